//! A terminal of its own for a command, as a person would sit at.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use super::{code, eventually, wait};

pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
}

impl Terminal {
    /// Runs the command in the foreground of a new terminal.
    pub fn run(mut command: Command) -> Terminal {
        let (mut ours, mut theirs) = (0, 0);
        let null = std::ptr::null_mut();
        // SAFETY: room for two descriptors; the rest may be null.
        let opened = unsafe { libc::openpty(&mut ours, &mut theirs, null, null.cast(), null.cast()) };
        assert_eq!(opened, 0, "{}", io::Error::last_os_error());
        // SAFETY: just opened, nobody else's.
        let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        // SAFETY: a descriptor of ours. A child that kept it would keep the terminal alive.
        unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
        let stdio = || Stdio::from(theirs.try_clone().expect("a descriptor"));
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        // SAFETY: only calls that are allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY as _, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the command was built");
        drop((command, theirs));
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut reading, shown) = (ours.try_clone().expect("a descriptor"), screen.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The end is an error on Linux.
            while let Ok(n @ 1..) = reading.read(&mut buffer) {
                shown.lock().expect("not poisoned").push_str(&String::from_utf8_lossy(&buffer[..n]));
            }
        });
        Terminal { child, keyboard: ours, screen }
    }

    pub fn id(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal is open");
    }

    /// Everything that was ever shown.
    pub fn screen(&self) -> String {
        self.screen.lock().expect("not poisoned").clone()
    }

    pub fn shows(&self, text: &str) {
        eventually(&format!("the terminal shows {text:?}"), || self.screen().contains(text));
    }

    pub fn end(&mut self) -> i32 {
        code(wait(&mut self.child))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
