//! The process: its forks and its end.

/// Calls these around each fork: before it, and after it in the parent and in the child.
pub(crate) fn watch_forks(
    before: unsafe extern "C" fn(),
    in_parent: unsafe extern "C" fn(),
    in_child: unsafe extern "C" fn(),
) {
    // SAFETY: plain functions that live as long as the library, which is never unmapped.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

/// Calls this when main returns or exit is called.
pub(crate) fn at_exit(end: extern "C" fn()) {
    // SAFETY: a plain function that lives as long as the library, which is never unmapped. Should there be no room for it,
    // sessions are left to their timeout, as a kill leaves them.
    unsafe { libc::atexit(end) };
}
