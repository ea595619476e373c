//! The console: its size, and keys as they are typed. It is told to understand and to send what other terminals do.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::sync::Arc;

use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
use windows_sys::Win32::System::Console::{
    CONSOLE_MODE, CONSOLE_SCREEN_BUFFER_INFO, ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, ENABLE_PROCESSED_OUTPUT,
    ENABLE_VIRTUAL_TERMINAL_INPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode,
    GetConsoleScreenBufferInfo, INPUT_RECORD, KEY_EVENT, ReadConsoleInputW, SetConsoleMode,
};
use windows_sys::Win32::System::Threading::{CreateEventW, INFINITE, SetEvent, WaitForMultipleObjects};

/// Keys come at once and are not shown, until it is dropped; Ctrl-C is still one.
pub(crate) struct Raw(CONSOLE_MODE);

impl Raw {
    /// `None` where stdin is no console.
    pub(crate) fn enter() -> Option<Raw> {
        let before = mode(stdin())?;
        set_mode(stdin(), before & !(ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT) | ENABLE_VIRTUAL_TERMINAL_INPUT);
        Some(Raw(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        set_mode(stdin(), self.0);
    }
}

/// What is written to it moves its cursor, which not every console does by itself.
pub(crate) fn understand_escapes() {
    if let Some(before) = mode(stdout()) {
        set_mode(stdout(), before | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
}

/// Columns and lines of the console; zeros where there is none.
pub(crate) fn size() -> (usize, usize) {
    // SAFETY: one of zeros is a valid one to write to.
    let window = unsafe {
        let mut found: CONSOLE_SCREEN_BUFFER_INFO = std::mem::zeroed();
        if GetConsoleScreenBufferInfo(stdout(), &mut found) == 0 {
            return (0, 0);
        }
        found.srWindow
    };
    let length = |first: i16, last: i16| usize::try_from(i32::from(last) - i32::from(first) + 1).unwrap_or(0);
    (length(window.Left, window.Right), length(window.Top, window.Bottom))
}

/// What is typed.
pub(crate) struct Typed(Arc<OwnedHandle>);

/// Ends the reading of what is typed when it is dropped.
pub(crate) struct Stop(Arc<OwnedHandle>);

impl Drop for Stop {
    fn drop(&mut self) {
        // SAFETY: an event of ours.
        unsafe { SetEvent(self.0.as_raw_handle()) };
    }
}

impl Typed {
    pub(crate) fn open() -> io::Result<(Typed, Stop)> {
        // SAFETY: an event without a name, which stays set, and belongs to nobody else.
        let event = unsafe { CreateEventW(std::ptr::null(), 1, 0, std::ptr::null()) };
        if event.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        let event = Arc::new(unsafe { OwnedHandle::from_raw_handle(event) });
        Ok((Typed(event.clone()), Stop(event)))
    }

    /// Waits for what comes next; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let waited = [self.0.as_raw_handle(), stdin()];
        // SAFETY: two handles that stay open meanwhile.
        if unsafe { WaitForMultipleObjects(2, waited.as_ptr(), 0, INFINITE) } != WAIT_OBJECT_0 + 1 {
            return None;
        }
        // SAFETY: records of zeros are valid ones to write to.
        let mut records: [INPUT_RECORD; 64] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        // SAFETY: as many as there is room for; there is at least one.
        if unsafe { ReadConsoleInputW(stdin(), records.as_mut_ptr(), 64, &mut count) } == 0 {
            return None;
        }
        let typed =
            records[..count as usize].iter().filter(|record| u32::from(record.EventType) == KEY_EVENT);
        // SAFETY: of key events, as filtered above.
        let keys = typed.map(|record| unsafe { record.Event.KeyEvent }).filter(|key| key.bKeyDown != 0);
        // SAFETY: the wide form of the call has wide letters.
        let letters = keys.map(|key| unsafe { key.uChar.UnicodeChar }).filter(|letter| *letter != 0);
        Some(String::from_utf16_lossy(&letters.collect::<Vec<_>>()).into_bytes())
    }
}

fn stdin() -> RawHandle {
    io::stdin().as_raw_handle()
}

fn stdout() -> RawHandle {
    io::stdout().as_raw_handle()
}

fn mode(console: RawHandle) -> Option<CONSOLE_MODE> {
    let mut found = 0;
    // SAFETY: writes to a number of ours.
    (unsafe { GetConsoleMode(console, &mut found) } != 0).then_some(found)
}

fn set_mode(console: RawHandle, mode: CONSOLE_MODE) {
    // SAFETY: plain numbers.
    unsafe { SetConsoleMode(console, mode) };
}
