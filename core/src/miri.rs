//! What Miri lacks of the C library, as stand-ins that do nothing. Whoever takes precautions against signals, exits
//! and cancelled threads calls these, and nothing of that happens under Miri. They are there for `make miri` alone.

use std::ffi::c_int;

use libc::sigset_t;

#[unsafe(no_mangle)]
extern "C" fn pthread_setcancelstate(_: c_int, _: *mut c_int) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn sigfillset(_: *mut sigset_t) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn sigemptyset(_: *mut sigset_t) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn sigdelset(_: *mut sigset_t, _: c_int) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn pthread_sigmask(_: c_int, _: *const sigset_t, _: *mut sigset_t) -> c_int {
    0
}

/// Nobody knows how large its stack is.
#[unsafe(no_mangle)]
extern "C" fn pthread_getattr_np(_: libc::pthread_t, _: *mut libc::pthread_attr_t) -> c_int {
    libc::ENOSYS
}

/// The process ends without.
#[unsafe(no_mangle)]
extern "C" fn atexit(_: extern "C" fn()) -> c_int {
    0
}
