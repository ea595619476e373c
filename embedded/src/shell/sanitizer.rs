//! The server's thread runs no code of the user's. ThreadSanitizer, which may be in the program but is not in this
//! library, sees what it does with malloc and memcpy, and would take it for races.
//!
//! In every other program this does nothing.

/// Runs code of the library.
pub(super) fn ours(body: impl FnOnce()) {
    switch([c"AnnotateIgnoreReadsBegin", c"AnnotateIgnoreWritesBegin"]);
    body();
    switch([c"AnnotateIgnoreReadsEnd", c"AnnotateIgnoreWritesEnd"]);
}

#[cfg(unix)]
fn switch(names: [&std::ffi::CStr; 2]) {
    type Switch = unsafe extern "C" fn(*const libc::c_char, libc::c_int);
    for name in names {
        // SAFETY: a lookup by name; what has this name is ThreadSanitizer's, of this type, and only counts for this thread.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
            if !found.is_null() {
                std::mem::transmute::<*mut libc::c_void, Switch>(found)(c"zkrecipes".as_ptr(), 0);
            }
        }
    }
}

#[cfg(not(unix))]
fn switch(_: [&std::ffi::CStr; 2]) {}
