//! Errors and lists of text, which libzkrecipes makes: its functions read and free them.

use std::ffi::{CString, c_char};

use zkrecipes::{Error, ErrorKind, Result};

use crate::input::to_c;
pub use crate::status::zkr_status;

/// As in zkrecipes.h.
#[repr(C)]
pub struct zkr_error {
    _opaque: [u8; 0],
}

/// As in zkrecipes.h.
#[repr(C)]
pub struct zkr_strings {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn zkr_error_new(status: i32, message: *const c_char, path: *const c_char) -> *mut zkr_error;
    fn zkr_strings_new(texts: *const *const c_char, count: usize) -> *mut zkr_strings;
}

/// What a failed verb leaves in the place for its error.
pub(crate) fn hand_over(error: &Error) -> *mut zkr_error {
    let message = to_c(&error.message());
    let path = error.path().map(to_c);
    let path = path.as_ref().map_or(std::ptr::null(), |path| path.as_ptr());
    // SAFETY: both are text that ends with NUL and outlive the call.
    unsafe { zkr_error_new(error.kind().code(), message.as_ptr(), path) }
}

pub(crate) fn list(texts: &[String]) -> Result<*mut zkr_strings> {
    let texts: Vec<CString> = texts.iter().map(|text| to_c(text)).collect();
    let places: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    // SAFETY: so many texts that end with NUL and outlive the call.
    let list = unsafe { zkr_strings_new(places.as_ptr(), places.len()) };
    match list.is_null() {
        true => Err(Error::new(ErrorKind::Internal, "libzkrecipes made no list")),
        false => Ok(list),
    }
}
