//! What the library hands over by the piece: bytes and lists of text.

use std::ffi::{CString, c_char, c_void};

use crate::guard;
use crate::handle::{self, Object};
use crate::input::to_c;

/// Bytes that the library hands over; a NUL that does not count follows them.
pub struct zkr_buffer {
    _opaque: [u8; 0],
}

pub(crate) struct Buffer(Vec<u8>);

impl Object for Buffer {
    type Opaque = zkr_buffer;
    const NAME: &'static str = "zkr_buffer";
}

impl Buffer {
    pub(crate) fn new(mut bytes: Vec<u8>) -> Buffer {
        bytes.push(0);
        Buffer(bytes)
    }
}

/// The bytes; never NULL, also when there are none. Valid until the buffer is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_buffer_data(buffer: *const zkr_buffer) -> *const c_void {
    guard::answer(c"".as_ptr().cast(), || {
        handle::get_anywhere::<Buffer>(buffer).map(|buffer| buffer.0.as_ptr().cast())
    })
}

/// How many bytes there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_buffer_size(buffer: *const zkr_buffer) -> usize {
    guard::answer(0, || handle::get_anywhere::<Buffer>(buffer).map(|buffer| buffer.0.len() - 1))
}

/// The bytes as a string, for text such as a path. Valid until the buffer is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_buffer_text(buffer: *const zkr_buffer) -> *const c_char {
    zkr_buffer_data(buffer).cast()
}

/// Frees a buffer. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_buffer_free(buffer: *mut zkr_buffer) {
    guard::quietly(|| drop(handle::take::<Buffer>(buffer)));
}

/// A list of strings.
pub struct zkr_strings {
    _opaque: [u8; 0],
}

pub(crate) struct Strings(Vec<CString>);

impl Object for Strings {
    type Opaque = zkr_strings;
    const NAME: &'static str = "zkr_strings";
}

impl Strings {
    pub(crate) fn new(texts: Vec<String>) -> Strings {
        Strings(texts.iter().map(|text| to_c(text)).collect())
    }
}

/// How many strings there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_strings_count(strings: *const zkr_strings) -> usize {
    guard::answer(0, || handle::get_anywhere::<Strings>(strings).map(|strings| strings.0.len()))
}

/// One string, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_strings_get(strings: *const zkr_strings, index: usize) -> *const c_char {
    guard::answer(std::ptr::null(), || {
        handle::get_anywhere::<Strings>(strings)?.0.get(index).map(|text| text.as_ptr())
    })
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_strings_free(strings: *mut zkr_strings) {
    guard::quietly(|| drop(handle::take::<Strings>(strings)));
}
