//! A terminal that a command has for itself: keys as they are typed, and frames of which only the changed lines are written.

use std::fmt::Write;
use std::io;
use std::thread::JoinHandle;

use crate::outcome::{self, Outcome};
use crate::system::terminal::{self, Raw, Stop, Typed};

/// A key that was typed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    Escape,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

/// How a piece of a line looks. Without colours nothing but the letters is written.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Look {
    #[default]
    Plain,
    Strong,
    Faint,
    /// It is held.
    Good,
    /// Somebody waits.
    Busy,
    Bad,
    Chosen,
}

impl Look {
    fn code(self) -> &'static str {
        match self {
            Look::Plain => "0",
            Look::Strong => "1",
            Look::Faint => "2",
            Look::Good => "32",
            Look::Busy => "33",
            Look::Bad => "31",
            Look::Chosen => "7",
        }
    }
}

/// A line, piece by piece.
pub(crate) type Pieces = Vec<(Look, String)>;

/// The screen, from [`Screen::open`] until it is dropped, which leaves it as it was.
pub(crate) struct Screen {
    has_colours: bool,
    shown: Vec<String>,
    size: (usize, usize),
    /// Dropped after what is above has been left.
    _raw: Option<Raw>,
}

impl Screen {
    pub(crate) fn open() -> Outcome<Screen> {
        let raw = Raw::enter();
        terminal::understand_escapes();
        // The other screen, without a cursor, where no line is continued in the next.
        outcome::print("\x1b[?1049h\x1b[?25l\x1b[?7l")?;
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Ok(Screen { has_colours, shown: Vec::new(), size: (0, 0), _raw: raw })
    }

    /// Shows these lines, each cut where the screen ends. Only what differs from what is shown is written.
    pub(crate) fn draw(&mut self, lines: &[Pieces]) -> Outcome<()> {
        let (width, height) = size();
        let mut frame = String::new();
        if self.size != (width, height) {
            (self.size, self.shown) = ((width, height), vec![String::new(); height]);
            frame += "\x1b[2J";
        }
        for at in 0..height {
            let (line, taken) = lines.get(at).map(|line| self.paint(line, width)).unwrap_or_default();
            if self.shown[at] != line {
                // A line that is full would lose its last letter: the cursor stays on it.
                let rest = if taken < width { "\x1b[K" } else { "" };
                write!(frame, "\x1b[{};1H{line}{rest}", at + 1).expect("a String takes everything");
                self.shown[at] = line;
            }
        }
        if !frame.is_empty() {
            // All at once, where the terminal knows how.
            outcome::print(&format!("\x1b[?2026h{frame}\x1b[?2026l"))?;
        }
        Ok(())
    }

    /// The line, and how many columns it takes.
    fn paint(&self, line: &Pieces, width: usize) -> (String, usize) {
        let (mut painted, mut room) = (String::new(), width);
        for (at, (look, text)) in line.iter().enumerate() {
            let is_last = line[at + 1..].iter().all(|(_, text)| text.trim().is_empty());
            let text = cut(if is_last { text.trim_end() } else { text }, room);
            room -= columns(&text);
            match self.has_colours && *look != Look::Plain {
                true => painted += &format!("\x1b[{}m{text}\x1b[0m", look.code()),
                false => painted += &text,
            }
        }
        (painted, width - room)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = outcome::print("\x1b[?7h\x1b[?25h\x1b[?1049l");
    }
}

/// Columns and lines of the terminal.
pub(crate) fn size() -> (usize, usize) {
    match terminal::size() {
        (0, _) | (_, 0) => (80, 24),
        size => size,
    }
}

/// How many columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Near enough for the scripts that are usual: East Asian letters and pictures take two, accents of their own none.
fn columns_of(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// The beginning of a text, as much as there is room for.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut taken = 1;
    for c in text.chars() {
        taken += columns_of(c);
        if taken > room {
            break;
        }
        cut.push(c);
    }
    if room > 0 { cut + "…" } else { cut }
}

/// The end of a text, as much as there is room for: of a path it tells more than the beginning.
pub(crate) fn cut_front(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut taken = 1;
    for c in text.chars().rev() {
        taken += columns_of(c);
        if taken > room {
            break;
        }
        kept.push(c);
    }
    let end: String = kept.into_iter().rev().collect();
    if room > 0 { format!("…{end}") } else { end }
}

/// Tells the keys that are typed, from a thread of its own, until it is dropped.
pub(crate) struct Keys {
    stop: Option<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    pub(crate) fn read(mut tell: impl FnMut(Key) + Send + 'static) -> io::Result<Keys> {
        let (mut typed, stop) = Typed::open()?;
        let reading = move || {
            while let Some(bytes) = typed.next() {
                keys(&bytes).into_iter().for_each(&mut tell);
            }
        };
        let thread = std::thread::Builder::new().name("zkrecipes-keys".to_owned()).spawn(reading)?;
        Ok(Keys { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a terminal sends for the keys that were typed.
fn keys(bytes: &[u8]) -> Vec<Key> {
    let text = String::from_utf8_lossy(bytes);
    let (mut keys, mut rest) = (Vec::new(), &*text);
    while let Some(first) = rest.chars().next() {
        let sequences = [
            ("\x1b[A", Key::Up),
            ("\x1bOA", Key::Up),
            ("\x1b[B", Key::Down),
            ("\x1bOB", Key::Down),
            ("\x1b[5~", Key::PageUp),
            ("\x1b[6~", Key::PageDown),
            ("\x1b[H", Key::Home),
            ("\x1b[1~", Key::Home),
            ("\x1b[F", Key::End),
            ("\x1b[4~", Key::End),
        ];
        if let Some((sequence, key)) = sequences.iter().find(|(sequence, _)| rest.starts_with(sequence)) {
            keys.push(*key);
            rest = &rest[sequence.len()..];
            continue;
        }
        rest = &rest[first.len_utf8()..];
        match first {
            '\r' | '\n' => keys.push(Key::Enter),
            // One that we do not know: none of its letters was typed.
            '\x1b' if rest.starts_with(['[', 'O']) => {
                let end = rest[1..].find(|c: char| ('@'..='~').contains(&c)).map_or(rest.len(), |at| at + 2);
                rest = &rest[end..];
            }
            '\x1b' => keys.push(Key::Escape),
            c => keys.push(Key::Char(c)),
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_what_the_terminal_sends() {
        assert_eq!(keys(b"jq"), [Key::Char('j'), Key::Char('q')]);
        assert_eq!(keys(b"\x1b[A\x1bOB\r\x1b[6~"), [Key::Up, Key::Down, Key::Enter, Key::PageDown]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1b[1;5Cq"), [Key::Char('q')], "an unknown one is left out as a whole");
    }

    #[test]
    fn what_is_too_long_is_cut_at_one_end() {
        assert_eq!(cut("/locks/backup", 13), "/locks/backup");
        assert_eq!(cut("/locks/backup", 8), "/locks/…");
        assert_eq!(cut_front("/locks/backup", 8), "…/backup");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!((cut("abc", 0), cut_front("abc", 0)), (String::new(), String::new()));
    }
}
