//! A terminal in which a person could sit: tmux draws what the command writes, so what is tested is what would be seen.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use zkrecipes_embedded::Server;

use super::{eventually, program};

pub struct Tmux {
    socket: String,
}

impl Tmux {
    /// Runs the command in a terminal of that size.
    pub fn run(server: &Server, size: (u16, u16), variables: &[(&str, &str)], args: &[&str]) -> Tmux {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let tmux = Tmux { socket: format!("zkrecipes-{}-{number}", std::process::id()) };
        let hosts = server.connect_string();
        let settings = variables
            .iter()
            .copied()
            .chain([("ZKRECIPES_HOSTS", &*hosts)])
            .map(|(name, value)| format!("{name}='{value}'"));
        let words: Vec<String> = settings.chain([format!("'{}'", program().display())]).collect();
        let line = format!("env {} {}; echo \"status $?\"; exec sleep 600", words.join(" "), args.join(" "));
        let (columns, lines) = (size.0.to_string(), size.1.to_string());
        let started = ["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &lines, &line];
        let output = tmux.command(&started).output().expect("tmux, which scripts/setup installs");
        assert!(output.status.success(), "{output:?}");
        tmux
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.socket]).args(args).env_remove("TMUX").env("TERM", "xterm-256color");
        command
    }

    fn ask(&self, args: &[&str]) -> String {
        let output = self.command(args).output().expect("tmux");
        String::from_utf8(output.stdout).expect("text")
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// The same with the sequences for colours.
    pub fn coloured(&self) -> String {
        self.ask(&["capture-pane", "-p", "-e"])
    }

    pub fn keys(&self, keys: &[&str]) {
        let words: Vec<_> = ["send-keys"].into_iter().chain(keys.iter().copied()).collect();
        self.ask(&words);
    }

    pub fn resize(&self, columns: u16, lines: u16) {
        self.ask(&["resize-window", "-x", &columns.to_string(), "-y", &lines.to_string()]);
    }

    /// Waits until the screen is as it should be, and gives it back.
    pub fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        let mut looks = 0;
        eventually(&format!("the screen shows {what}"), || {
            screen = self.screen();
            looks += 1;
            if looks % 500 == 0 {
                eprintln!("{screen}");
            }
            is_so(&screen)
        });
        screen
    }

    pub fn shows(&self, text: &str) -> String {
        self.until(&format!("{text:?}"), |screen| screen.contains(text))
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}
