//! How far a long job is, on a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Often enough to look alive, seldom enough to cost nothing.
const EVERY: Duration = Duration::from_millis(100);
const WIDTH: u64 = 30;

/// A line on stderr that is drawn again as the job goes on, and stays when it is dropped. Nothing where stderr is no
/// terminal.
pub(super) struct Progress {
    is_shown: bool,
    /// In what `add` counts as done; 0 where nobody knows.
    total: u64,
    done: u64,
    items: u64,
    drawn: Option<Instant>,
}

impl Progress {
    pub(super) fn of(total: u64, is_wanted: bool) -> Progress {
        Progress { is_shown: is_wanted && stderr().is_terminal(), total, done: 0, items: 0, drawn: None }
    }

    pub(super) fn add(&mut self, items: u64, done: u64) {
        self.items += items;
        self.done += done;
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= EVERY) {
            self.draw("");
        }
    }

    fn draw(&mut self, end: &str) {
        if !self.is_shown {
            return;
        }
        self.drawn = Some(Instant::now());
        // Nobody reads it: nothing to be done.
        let _ = write!(stderr(), "\r{}{end}", line(self.items, self.done, self.total));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            self.draw("\n");
        }
    }
}

fn line(items: u64, done: u64, total: u64) -> String {
    if total == 0 {
        return format!("{items} items");
    }
    let done = done.min(total);
    let full = (done * WIDTH / total) as usize;
    let empty = WIDTH as usize - full;
    format!("[{}{}] {:>3} %  {items} items", "#".repeat(full), " ".repeat(empty), done * 100 / total)
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_bar_fills() {
        assert_eq!(line(0, 0, 4), format!("[{}]   0 %  0 items", " ".repeat(30)));
        assert_eq!(line(7, 2, 4), format!("[{}{}]  50 %  7 items", "#".repeat(15), " ".repeat(15)));
        assert_eq!(line(9, 5, 4), format!("[{}] 100 %  9 items", "#".repeat(30)));
        assert_eq!(line(9, 5, 0), "9 items");
    }
}
