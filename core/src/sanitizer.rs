//! Tells ThreadSanitizer what it cannot see. A program that is built with it links this library as it is, without its
//! instrumentation: it does not see that our locks and channels put one thread's work before another's, and takes what
//! users leave to us for races. Nor does it see why our own memory is safe, of which it knows what malloc and memcpy do:
//! it must not look at that at all, only at the code of users.
//!
//! In every other program all of this does nothing, and neither in a library that has the instrumentation (`--cfg
//! zkr_instrumented`), whose own races are looked for.

use std::cell::Cell;
#[cfg(all(unix, not(zkr_instrumented)))]
use std::ffi::CStr;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

type Edge = unsafe extern "C" fn(*mut c_void);
type Switch = unsafe extern "C" fn(*const c_char, c_int);

struct Hooks {
    acquire: Edge,
    release: Edge,
    /// What is read and what is written, in this order.
    ignore: [Switch; 2],
    heed: [Switch; 2],
}

thread_local! {
    /// Whether this thread runs our code, which is not looked at.
    static IS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Runs code of the library.
pub fn ours<T>(body: impl FnOnce() -> T) -> T {
    as_ours(true, body)
}

/// Runs code of the user's.
pub fn theirs<T>(body: impl FnOnce() -> T) -> T {
    as_ours(false, body)
}

/// From here on this thread runs code of the library, or of the user's.
pub fn set_ours(is_ours: bool) {
    if let Some(hooks) = hooks()
        && IS_OURS.replace(is_ours) != is_ours
    {
        for switch in if is_ours { hooks.ignore } else { hooks.heed } {
            // SAFETY: they only count for this thread, and each beginning has its end; the place in a file is for traces.
            unsafe { switch(c"zkrecipes".as_ptr(), 0) };
        }
    }
}

fn as_ours<T>(is_ours: bool, body: impl FnOnce() -> T) -> T {
    struct OwnershipBefore(bool);
    impl Drop for OwnershipBefore {
        fn drop(&mut self) {
            set_ours(self.0);
        }
    }
    let _back = OwnershipBefore(IS_OURS.get());
    set_ours(is_ours);
    body()
}

/// What this thread did before comes before what is done after [`acquire`] of the same object.
pub fn release<T>(object: &T) {
    if let Some(hooks) = hooks() {
        // SAFETY: the function of this name takes any address and only remembers it.
        unsafe { (hooks.release)((&raw const *object).cast_mut().cast()) };
    }
}

/// See [`release`].
pub fn acquire<T>(object: &T) {
    if let Some(hooks) = hooks() {
        // SAFETY: as above.
        unsafe { (hooks.acquire)((&raw const *object).cast_mut().cast()) };
    }
}

fn hooks() -> Option<&'static Hooks> {
    static HOOKS: OnceLock<Option<Hooks>> = OnceLock::new();
    HOOKS.get_or_init(find).as_ref()
}

#[cfg(all(unix, not(zkr_instrumented)))]
fn find() -> Option<Hooks> {
    // SAFETY: what has these names is ThreadSanitizer's, of these types.
    unsafe {
        let switch = |name| function(name).map(|found| std::mem::transmute::<*mut c_void, Switch>(found));
        Some(Hooks {
            acquire: std::mem::transmute::<*mut c_void, Edge>(function(c"__tsan_acquire")?),
            release: std::mem::transmute::<*mut c_void, Edge>(function(c"__tsan_release")?),
            ignore: [switch(c"AnnotateIgnoreReadsBegin")?, switch(c"AnnotateIgnoreWritesBegin")?],
            heed: [switch(c"AnnotateIgnoreReadsEnd")?, switch(c"AnnotateIgnoreWritesEnd")?],
        })
    }
}

#[cfg(any(not(unix), zkr_instrumented))]
fn find() -> Option<Hooks> {
    None
}

#[cfg(all(unix, not(zkr_instrumented)))]
fn function(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a lookup by name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
