//! What is freed while a secret is still in it. A program of tests that has this file has its allocator, too.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Watching;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

thread_local! {
    static SECRET: Cell<Option<&'static [u8]>> = const { Cell::new(None) };
    static FREED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work. What grows is moved by `alloc` and `dealloc`, so what it leaves behind is seen.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Without what somebody else has left there.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // A thread that ends frees, too.
        if let Ok(Some(secret)) = SECRET.try_with(Cell::get) {
            let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
            if bytes.windows(secret.len()).any(|part| part == secret) {
                FREED.set(FREED.get() + 1);
            }
        }
        unsafe { System.dealloc(block, layout) }
    }
}

/// How many blocks this thread frees during `work` with the secret in them.
pub(crate) fn holding(secret: &'static [u8], work: impl FnOnce()) -> usize {
    FREED.set(0);
    SECRET.set(Some(secret));
    work();
    SECRET.set(None);
    FREED.get()
}
