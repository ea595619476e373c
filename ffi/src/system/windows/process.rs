//! The process: its forks and its end.

use std::ffi::CStr;
use std::sync::OnceLock;

use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN, GetModuleHandleA,
    GetModuleHandleExA, GetProcAddress,
};

/// Nobody forks here.
pub(crate) fn watch_forks(
    _before: unsafe extern "C" fn(),
    _in_parent: unsafe extern "C" fn(),
    _in_child: unsafe extern "C" fn(),
) {
}

/// The C libraries that a program may have, with what calls a function when main returns or exit is called. `atexit` of ours would
/// call it when the library goes, and by then the system has ended our threads.
const EXITS: [(&CStr, &CStr); 2] = [(c"ucrtbase.dll", c"_crt_atexit"), (c"msvcrt.dll", c"_onexit")];

static END: OnceLock<extern "C" fn()> = OnceLock::new();

/// Calls this when main returns or exit is called.
pub(crate) fn at_exit(end: extern "C" fn()) {
    type AtExit = unsafe extern "C" fn(extern "C" fn()) -> usize;
    let _ = END.set(end);
    let mut ours = std::ptr::null_mut();
    let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    // SAFETY: our threads outlive a FreeLibrary: the address stands for the library that has it, which is never unmapped then.
    unsafe { GetModuleHandleExA(flags, (exits as *const ()).cast(), &mut ours) };
    for (library, name) in EXITS {
        if let Some(found) = find(library, name) {
            // SAFETY: what has this name takes such a function. What it answers says whether there was room for it: if not, sessions
            // are left to their timeout.
            unsafe { std::mem::transmute::<Function, AtExit>(found)(exits) };
        }
    }
}

/// An older C library also calls this when it goes itself: too late, as it is for ours.
extern "C" fn exits() {
    type IsTooLate = unsafe extern "system" fn() -> u8;
    let asked = find(c"ntdll.dll", c"RtlDllShutdownInProgress");
    // SAFETY: what has this name is such a function.
    let is_too_late =
        asked.is_some_and(|found| unsafe { std::mem::transmute::<Function, IsTooLate>(found)() } != 0);
    if let Some(end) = END.get().filter(|_| !is_too_late) {
        end();
    }
}

type Function = unsafe extern "system" fn() -> isize;

/// A function of a library that is loaded.
fn find(library: &CStr, name: &CStr) -> Option<Function> {
    // SAFETY: names that end with NUL.
    unsafe {
        let library = GetModuleHandleA(library.as_ptr().cast());
        if library.is_null() { None } else { GetProcAddress(library, name.as_ptr().cast()) }
    }
}
