//! Memory that is overwritten when it is freed, for a process that is given secrets: arguments and variables are copied by
//! whoever takes them apart, and nobody could say where to.

use std::alloc::{GlobalAlloc, Layout, System};

use zeroize::Zeroize;

/// An allocator over another one; nothing of what was in it is in memory that is given back.
pub struct Overwriting<A = System>(pub A);

// SAFETY: the other one does the work, and what is freed is nobody's any more. Whatever grows is moved by way of these two.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Overwriting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as we were called.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as we were called.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: it came from `alloc` with this layout, and is freed once. Some of it may never have been written: what is
        // overwritten is not read.
        unsafe {
            let bytes = memory.cast::<std::mem::MaybeUninit<u8>>();
            std::slice::from_raw_parts_mut(bytes, layout.size()).zeroize();
            self.0.dealloc(memory, layout);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Keeps what the memory contained that is given back.
    #[derive(Default)]
    struct Seen(RefCell<Vec<Vec<u8>>>);

    // SAFETY: the system does the work.
    unsafe impl GlobalAlloc for Seen {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: as we were called; written here, so that the test may read all of it.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
            // SAFETY: as in `alloc`.
            unsafe {
                self.0.borrow_mut().push(std::slice::from_raw_parts(memory, layout.size()).to_vec());
                System.dealloc(memory, layout);
            }
        }
    }

    #[test]
    fn what_is_freed_or_grows_leaves_nothing_behind() {
        let (allocator, secret) = (Overwriting(Seen::default()), b"hunter2!");
        let layout = Layout::for_value(secret);
        // SAFETY: with the layouts that it has each time.
        unsafe {
            let memory = allocator.alloc(layout);
            memory.copy_from(secret.as_ptr(), secret.len());
            let memory = allocator.realloc(memory, layout, 64);
            assert_eq!(std::slice::from_raw_parts(memory, secret.len()), secret);
            allocator.dealloc(memory, Layout::from_size_align_unchecked(64, layout.align()));
        }
        assert_eq!(*allocator.0.0.borrow(), [vec![0; 8], vec![0; 64]]);
    }
}
