//! A command with the processes it started: a job of the system's, which none of them leaves unless it was made to.
//!
//! Nothing here asks a process to end; it is ended.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{INVALID_HANDLE_VALUE, STATUS_CONTROL_C_EXIT};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation, QueryInformationJobObject,
    SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED, INFINITE, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
    WaitForSingleObject,
};

use super::signals::{SIGINT, SIGKILL, SIGTERM, Signals};

/// What becomes of a command without us.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bond {
    /// It ends with us, and so does what it started.
    EndsWithUs,
    GoesOn,
    /// As the first, and Ctrl-C does not reach it.
    Apart,
}

/// A command and what it started.
#[derive(Debug)]
pub(crate) struct Tree {
    job: OwnedHandle,
    was_ended: bool,
}

impl Signals {
    /// Spawns the command. It runs only once it is in its job: what it starts is there from the beginning.
    pub(crate) fn spawn(&self, command: &mut Command, bond: Bond) -> io::Result<(Child, Tree)> {
        let tree = Tree::new(bond)?;
        let group = if bond == Bond::Apart { CREATE_NEW_PROCESS_GROUP } else { 0 };
        let mut child = command.creation_flags(CREATE_SUSPENDED | group).spawn()?;
        match tree.adopt(&child).and_then(|()| resume(child.id())) {
            Ok(()) => Ok((child, tree)),
            Err(error) => {
                let _ = child.kill().and_then(|()| child.wait());
                Err(error)
            }
        }
    }
}

impl Tree {
    fn new(bond: Bond) -> io::Result<Tree> {
        // SAFETY: a job without a name, which belongs to nobody else.
        let job = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        let tree = Tree { job: unsafe { OwnedHandle::from_raw_handle(job) }, was_ended: false };
        tree.end_with_us(bond != Bond::GoesOn)?;
        Ok(tree)
    }

    /// Whether all of it ends when the last handle of the job is closed, which is ours, however we end.
    fn end_with_us(&self, does: bool) -> io::Result<()> {
        // SAFETY: limits of zeros are none.
        let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { std::mem::zeroed() };
        limits.BasicLimitInformation.LimitFlags = if does { JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE } else { 0 };
        let (class, size) = (JobObjectExtendedLimitInformation, size_of_val(&limits) as u32);
        // SAFETY: a job of ours, and limits of that size.
        check(unsafe {
            SetInformationJobObject(self.job.as_raw_handle(), class, (&raw const limits).cast(), size)
        })
    }

    fn adopt(&self, child: &Child) -> io::Result<()> {
        // SAFETY: both handles are open.
        check(unsafe { AssignProcessToJobObject(self.job.as_raw_handle(), child.as_raw_handle()) })
    }

    /// The console has told the command what it told us.
    pub(crate) fn pass_on(&self, _number: i32) {}

    /// Nobody can be asked: ends everybody.
    pub(crate) fn terminate(&mut self) {
        self.end(SIGTERM);
    }

    /// Ends everybody.
    pub(crate) fn kill(&mut self) {
        self.end(SIGKILL);
    }

    /// The same of what is [`Bond::Apart`].
    pub(crate) fn kill_group(&mut self) {
        self.kill();
    }

    fn end(&mut self, number: i32) {
        self.was_ended = true;
        // SAFETY: a job of ours.
        unsafe { TerminateJobObject(self.job.as_raw_handle(), 128 + number as u32) };
    }

    /// Once the command itself has ended: waits until then for the others, which end as well.
    pub(crate) fn finish(&mut self, until: Option<Instant>) {
        while self.has_processes() && until.is_some_and(|until| Instant::now() < until) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn has_processes(&self) -> bool {
        // SAFETY: zeros are valid numbers.
        let mut known: JOBOBJECT_BASIC_ACCOUNTING_INFORMATION = unsafe { std::mem::zeroed() };
        let (class, size) = (JobObjectBasicAccountingInformation, size_of_val(&known) as u32);
        // SAFETY: a job of ours, and room for what is asked.
        let asked = check(unsafe {
            QueryInformationJobObject(
                self.job.as_raw_handle(),
                class,
                (&raw mut known).cast(),
                size,
                std::ptr::null_mut(),
            )
        });
        asked.is_ok() && known.ActiveProcesses > 0
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // What a command that has ended by itself has left running goes on.
        if !self.was_ended {
            let _ = self.end_with_us(false);
        }
    }
}

/// Lets a process run that was spawned as suspended: it has the one thread that it begins with.
fn resume(id: u32) -> io::Result<()> {
    // SAFETY: a list of the threads of the system, which belongs to nobody else.
    let threads = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) };
    if threads == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let threads = unsafe { OwnedHandle::from_raw_handle(threads) };
    // SAFETY: zeros are valid numbers.
    let mut entry: THREADENTRY32 = unsafe { std::mem::zeroed() };
    entry.dwSize = size_of_val(&entry) as u32;
    // SAFETY: an entry that knows its size.
    check(unsafe { Thread32First(threads.as_raw_handle(), &mut entry) })?;
    while entry.th32OwnerProcessID != id {
        // SAFETY: as above; at the end of the list it is an error.
        check(unsafe { Thread32Next(threads.as_raw_handle(), &mut entry) })?;
    }
    // SAFETY: plain numbers.
    let thread = unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) };
    if thread.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else's.
    let thread = unsafe { OwnedHandle::from_raw_handle(thread) };
    // SAFETY: a handle that is open.
    match unsafe { ResumeThread(thread.as_raw_handle()) } {
        u32::MAX => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// What waits for the end of a child, on any thread.
pub(crate) fn end_of(child: &Child) -> impl FnOnce() + Send + use<> {
    let handle = child.as_handle().try_clone_to_owned();
    move || {
        if let Ok(handle) = handle {
            // SAFETY: a handle that is open.
            unsafe { WaitForSingleObject(handle.as_raw_handle(), INFINITE) };
        }
    }
}

/// What runs a line as people type it.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd");
    // As it is: it takes quotes differently from everybody else.
    command.arg("/C").raw_arg(line);
    command
}

/// As shells tell it: for a command that Ctrl-C has ended, 128 and the signal.
pub(crate) fn code_of(status: ExitStatus) -> i32 {
    match status.code() {
        Some(STATUS_CONTROL_C_EXIT) => 128 + SIGINT,
        Some(code) => code,
        None => 128,
    }
}

fn check(answer: windows_sys::core::BOOL) -> io::Result<()> {
    if answer == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
