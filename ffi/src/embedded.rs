//! The server of `embedded:`. It is in the testing library, which is loaded when it is asked for: what runs in production
//! need not have it.

use std::ffi::{CStr, c_char, c_void};

use zkrecipes::{Error, ErrorKind, Result};

use crate::system::library::{Library, NAME};

type Start = unsafe extern "C" fn(*const c_void, *mut *mut c_void, *mut c_void) -> i32;
type ConnectString = unsafe extern "C" fn(*const c_void) -> *const c_char;

/// Starts the server of this process, which nobody ends, and says what to connect to.
pub(crate) fn server() -> Result<String> {
    let library = Library::open().map_err(|why| missing(&why))?;
    let find = |name| library.find(name).map_err(|why| missing(&why));
    // SAFETY: the types are those of zkrecipes_testing.h; a library of that name and major version keeps them.
    unsafe {
        let start: Start = std::mem::transmute(find(c"zkr_test_server_start")?);
        let connect_string: ConnectString = std::mem::transmute(find(c"zkr_test_server_connect_string")?);
        let mut server = std::ptr::null_mut();
        if start(std::ptr::null(), &mut server, std::ptr::null_mut()) != 0 {
            return Err(Error::new(ErrorKind::Internal, "the embedded server did not start"));
        }
        Ok(CStr::from_ptr(connect_string(server)).to_string_lossy().into_owned())
    }
}

fn missing(why: &str) -> Error {
    Error::invalid(
        "hosts",
        format_args!("embedded: needs {NAME}, the testing kit; install it, or name a server ({why})"),
    )
}
