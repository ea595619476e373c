//! How much room a thread has to call into.

use std::cell::Cell;

/// How much of its stack this thread has left; `None` if it is not on the stack that it was started with.
pub(crate) fn left() -> Option<usize> {
    thread_local! {
        static STACK: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
    }
    let stack = STACK.get().or_else(of_this_thread);
    STACK.set(stack);
    let (lowest, size) = stack?;
    let here = std::ptr::from_ref(&size).addr();
    here.checked_sub(lowest).filter(|left| *left < size)
}

fn of_this_thread() -> Option<(usize, usize)> {
    let mut attributes = std::mem::MaybeUninit::uninit();
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are this thread's, filled in before they are read, and destroyed once.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let found = libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (found == 0).then_some((lowest.addr(), size))
    }
}
