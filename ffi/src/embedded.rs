//! The server of `embedded:`. It is in the testing library, which is loaded when it is asked for: what runs in production
//! need not have it.

use std::ffi::{CStr, CString, c_char, c_void};

use zkrecipes::{Error, ErrorKind, Result};

/// Beside this library, or where the system looks for libraries.
const LIBRARY: &str = concat!("libzkrecipes_testing.so.", env!("CARGO_PKG_VERSION_MAJOR"));

type Start = unsafe extern "C" fn(*const c_void, *mut *mut c_void, *mut c_void) -> i32;
type ConnectString = unsafe extern "C" fn(*const c_void) -> *const c_char;

/// Starts the server of this process, which nobody ends, and says what to connect to.
pub(crate) fn server() -> Result<String> {
    let library = open()?;
    // SAFETY: the types are those of zkrecipes_testing.h; a library of that name and major version keeps them.
    unsafe {
        let start: Start = std::mem::transmute(find(library, c"zkr_test_server_start")?);
        let connect_string: ConnectString =
            std::mem::transmute(find(library, c"zkr_test_server_connect_string")?);
        let mut server = std::ptr::null_mut();
        if start(std::ptr::null(), &mut server, std::ptr::null_mut()) != 0 {
            return Err(Error::new(ErrorKind::Internal, "the embedded server did not start"));
        }
        Ok(CStr::from_ptr(connect_string(server)).to_string_lossy().into_owned())
    }
}

fn open() -> Result<*mut c_void> {
    let name = CString::new(LIBRARY).unwrap_or_default();
    // SAFETY: a name that ends with NUL.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(missing());
    }
    Ok(library)
}

/// # Safety
/// The library is one that dlopen gave.
unsafe fn find(library: *mut c_void, name: &CStr) -> Result<*mut c_void> {
    // SAFETY: as above.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    if found.is_null() { Err(missing()) } else { Ok(found) }
}

fn missing() -> Error {
    // SAFETY: what dlerror gives is text of this thread, or NULL.
    let why = unsafe { libc::dlerror() };
    let why = match why.is_null() {
        true => "it is another library".into(),
        // SAFETY: as above.
        false => unsafe { CStr::from_ptr(why) }.to_string_lossy(),
    };
    Error::invalid(
        "hosts",
        format_args!("embedded: needs {LIBRARY}, the testing kit; install it, or name a server ({why})"),
    )
}
