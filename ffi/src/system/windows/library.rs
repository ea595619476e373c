//! The testing kit, which is loaded when it is asked for.

use std::ffi::{CStr, c_void};
use std::io;

use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, GetModuleFileNameW,
    GetModuleHandleExW, GetProcAddress, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS, LoadLibraryExW,
};

/// Beside this library, or where the system looks for libraries.
pub(crate) const NAME: &str = "zkrecipes_testing.dll";

/// A library that stays.
#[derive(Copy, Clone)]
pub(crate) struct Library(HMODULE);

impl Library {
    /// The error says why there is none.
    pub(crate) fn open() -> Result<Library, String> {
        let name: Vec<u16> = NAME.encode_utf16().chain([0]).collect();
        for path in beside_us().into_iter().chain([name]) {
            // SAFETY: a path that ends with NUL. By then this library is loaded, which that one needs.
            let library = unsafe {
                LoadLibraryExW(path.as_ptr(), std::ptr::null_mut(), LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
            };
            if !library.is_null() {
                return Ok(Library(library));
            }
        }
        Err(io::Error::last_os_error().to_string())
    }

    /// The function of that name.
    pub(crate) fn find(self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: the library is one that was loaded, and is never unloaded.
        let found = unsafe { GetProcAddress(self.0, name.as_ptr().cast()) };
        found.map(|found| found as *mut c_void).ok_or_else(|| io::Error::last_os_error().to_string())
    }
}

/// A path of the testing kit in our folder.
fn beside_us() -> Option<Vec<u16>> {
    let mut ours = std::ptr::null_mut();
    let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    let mut path = vec![0; 1 << 15];
    // SAFETY: the address of a function of ours, and as many letters as there is room for.
    let length = unsafe {
        if GetModuleHandleExW(flags, (beside_us as *const ()).cast(), &mut ours) == 0 {
            return None;
        }
        GetModuleFileNameW(ours, path.as_mut_ptr(), path.len() as u32)
    };
    path.truncate(length as usize);
    let folder = path.iter().rposition(|letter| *letter == u16::from(b'\\'))? + 1;
    path.truncate(folder);
    path.extend(NAME.encode_utf16().chain([0]));
    Some(path)
}
