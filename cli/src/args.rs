//! The words of a command line: options with values in every common spelling, and what stands between them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use crate::outcome::{Failure, Outcome};

/// One step through a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// `--name` or `-n`, the dashes included.
    Option(String),
    /// Anything else.
    Plain(OsString),
    /// `--`: no options behind this.
    Dashes,
}

/// Walks through a command line.
pub(crate) struct Words {
    rest: std::vec::IntoIter<OsString>,
    /// What stands behind `--name=`, or behind the first letter of `-n5`.
    attached: Option<Attached>,
}

enum Attached {
    /// Must be taken as the value of that option.
    Value { option: String, value: OsString },
    /// A value, or more letters.
    Letters(Vec<u8>),
}

impl Words {
    pub(crate) fn new(words: impl Iterator<Item = OsString>) -> Words {
        Words { rest: words.collect::<Vec<_>>().into_iter(), attached: None }
    }

    pub(crate) fn next_word(&mut self) -> Outcome<Option<Word>> {
        match self.attached.take() {
            Some(Attached::Value { option, .. }) => {
                return Err(Failure::usage(format!("{option} takes no value")));
            }
            Some(Attached::Letters(letters)) => return self.letter(letters).map(Some),
            None => {}
        }
        let Some(word) = self.rest.next() else { return Ok(None) };
        let bytes = word.as_bytes();
        if bytes == b"--" {
            return Ok(Some(Word::Dashes));
        }
        if bytes.starts_with(b"--") {
            let end = bytes.iter().position(|byte| *byte == b'=');
            let option = text(OsStr::from_bytes(&bytes[..end.unwrap_or(bytes.len())]), "an option")?;
            if let Some(end) = end {
                let value = OsString::from_vec(bytes[end + 1..].to_vec());
                self.attached = Some(Attached::Value { option: option.clone(), value });
            }
            return Ok(Some(Word::Option(option)));
        }
        if bytes.len() > 1 && bytes[0] == b'-' {
            return self.letter(bytes[1..].to_vec()).map(Some);
        }
        Ok(Some(Word::Plain(word)))
    }

    fn letter(&mut self, mut letters: Vec<u8>) -> Outcome<Word> {
        let first = letters.remove(0);
        if !first.is_ascii() {
            return Err(Failure::usage("an option of one letter is not one of ours; see --help"));
        }
        if !letters.is_empty() {
            self.attached = Some(Attached::Letters(letters));
        }
        Ok(Word::Option(format!("-{}", first as char)))
    }

    /// The value of the option that was just read.
    pub(crate) fn value(&mut self, option: &str) -> Outcome<String> {
        let value = match self.attached.take() {
            Some(Attached::Value { value, .. }) => value,
            Some(Attached::Letters(letters)) => {
                OsString::from_vec(letters.strip_prefix(b"=").unwrap_or(&letters).to_vec())
            }
            None => self.rest.next().ok_or_else(|| Failure::usage(format!("{option} needs a value")))?,
        };
        text(&value, option)
    }

    pub(crate) fn duration(&mut self, option: &str) -> Outcome<Duration> {
        let value = self.value(option)?;
        duration(&value).ok_or_else(|| {
            Failure::usage(format!(
                "{option} {value:?} is not a time; write a number with ms, s, m, h or d, or of seconds"
            ))
        })
    }

    pub(crate) fn number(&mut self, option: &str, most: usize) -> Outcome<usize> {
        let value = self.value(option)?;
        match value.parse() {
            Ok(number) if number <= most => Ok(number),
            _ => Err(Failure::usage(format!("{option} {value:?} is not a whole number up to {most}"))),
        }
    }

    /// The next word, which must be `what`.
    pub(crate) fn plain(&mut self, what: &str) -> Outcome<String> {
        match self.next_word()? {
            Some(Word::Plain(word)) => text(&word, what),
            _ => Err(Failure::usage(format!("{what} is missing"))),
        }
    }

    /// Everything that is left, as it is.
    pub(crate) fn remainder(self) -> Vec<OsString> {
        self.rest.collect()
    }
}

pub(crate) fn text(word: &OsStr, what: &str) -> Outcome<String> {
    match word.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Failure::usage(format!("{what}: {word:?} is not UTF-8"))),
    }
}

pub(crate) fn unknown(option: &str, command: &str) -> Failure {
    Failure::usage(format!("{command} has no option {option}; see {command} --help"))
}

pub(crate) fn superfluous(word: &OsStr, command: &str) -> Failure {
    Failure::usage(format!("{word:?} is one word too many; see {command} --help"))
}

/// `10s`, `1.5m`, `250ms`, or a number of seconds.
fn duration(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    // More than the plain digits would let in infinities, exponents and signs.
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    let duration = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
    // Longer than any process lives, and short enough to be added to a clock.
    (duration <= Duration::from_secs(100 * 365 * 86400)).then_some(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Words {
        Words::new(words.iter().map(OsString::from))
    }

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, millis) in
            [("0", 0), ("5", 5_000), ("250ms", 250), ("1.5m", 90_000), ("2h", 7_200_000), ("1d", 86_400_000)]
        {
            assert_eq!(duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "1e3", "inf", "nan", "1w", "1 s", "1.2.3", "99999999999d"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_value_can_be_attached_or_stand_behind() {
        for line in [&["--timeout", "5"][..], &["--timeout=5"], &["-w5"], &["-w", "5"], &["-w=5"]] {
            let mut words = words(line);
            assert!(matches!(words.next_word(), Ok(Some(Word::Option(_)))), "{line:?}");
            assert_eq!(words.value("--timeout").expect("a value"), "5", "{line:?}");
            assert_eq!(words.next_word().expect("the end"), None, "{line:?}");
        }
    }

    #[test]
    fn letters_can_stand_together() {
        let mut words = words(&["-sn", "-", "--", "x"]);
        assert_eq!(words.next_word().expect("a word"), Some(Word::Option("-s".into())));
        assert_eq!(words.next_word().expect("a word"), Some(Word::Option("-n".into())));
        assert_eq!(words.next_word().expect("a word"), Some(Word::Plain("-".into())));
        assert_eq!(words.next_word().expect("a word"), Some(Word::Dashes));
        assert_eq!(words.remainder(), ["x"]);
    }

    #[test]
    fn a_value_that_nobody_takes_is_refused() {
        let mut words = words(&["--try=yes"]);
        assert_eq!(words.next_word().expect("a word"), Some(Word::Option("--try".into())));
        assert!(words.next_word().is_err());
    }
}
