//! The testing kit, which is loaded when it is asked for.

use std::ffi::{CStr, CString, c_void};

/// Beside this library, or where the system looks for libraries.
pub(crate) const NAME: &str = concat!("libzkrecipes_testing.so.", env!("CARGO_PKG_VERSION_MAJOR"));

/// A library that stays.
#[derive(Copy, Clone)]
pub(crate) struct Library(*mut c_void);

impl Library {
    /// The error says why there is none.
    pub(crate) fn open() -> Result<Library, String> {
        let name = CString::new(NAME).unwrap_or_default();
        // SAFETY: a name that ends with NUL.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() { Err(why()) } else { Ok(Library(library)) }
    }

    /// The function of that name.
    pub(crate) fn find(self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: the library is one that dlopen gave.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if found.is_null() { Err(why()) } else { Ok(found) }
    }
}

fn why() -> String {
    // SAFETY: what dlerror gives is text of this thread, or NULL.
    let why = unsafe { libc::dlerror() };
    match why.is_null() {
        true => "it is another library".to_owned(),
        // SAFETY: as above.
        false => unsafe { CStr::from_ptr(why) }.to_string_lossy().into_owned(),
    }
}
