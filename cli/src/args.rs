//! The command line: what is said when it is wrong, and the values that it may have.

use std::ffi::OsString;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use zeroize::Zeroize;

use crate::Cli;
use crate::outcome::{self, Failure, Outcome};

/// `None` when all that was asked for has been printed.
pub(crate) fn parse(words: Vec<OsString>) -> Outcome<Option<Cli>> {
    let page = page(&words);
    let parsed = Cli::try_parse_from(&words);
    // A password may have been among them. The allocator of the command sees to all copies, but not in Python and Node.
    words.into_iter().for_each(|word| word.into_encoded_bytes().zeroize());
    match parsed {
        Ok(cli) => Ok(Some(cli)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                outcome::print(&format!("{}\n", error.render().to_string().trim_end())).map(|_| None)
            }
            _ => {
                let problem = sentence(&error.render().to_string());
                Err(Failure::usage(format!("{problem}; see {page} --help")))
            }
        },
    }
}

/// The command that was meant, with the name of its verb.
fn page(words: &[OsString]) -> String {
    let (mut command, mut name) = (Cli::command(), "zkrecipes".to_owned());
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(verb) = command.find_subcommand(word).cloned() {
            name = format!("{name} {word}");
            command = verb;
        }
    }
    name
}

/// What clap says in paragraphs, in one line: the problem and its hints.
fn sentence(paragraphs: &str) -> String {
    let (mut parts, mut is_problem) = (Vec::new(), true);
    for line in paragraphs.lines().map(str::trim) {
        match line.strip_prefix("tip: ") {
            Some(tip) if tip.starts_with("to pass") => {}
            Some(tip) => parts.push(format!("; {tip}")),
            None if line.is_empty() => is_problem = false,
            None if is_problem => parts.push(match parts.is_empty() {
                true => line.trim_start_matches("error: ").to_owned(),
                false => format!(" {line}"),
            }),
            None => {}
        }
    }
    parts.concat()
}

/// `10s`, `1.5m`, `250ms`, or a number of seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number with ms, s, m, h or d, or of seconds".to_owned();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    // More than the plain digits would let in infinities, exponents and signs.
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(wrong());
    }
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(wrong()),
    };
    let number = number.parse::<f64>().map_err(|_| wrong())?;
    let duration = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
    // Longer than any process lives, and short enough to be added to a clock.
    if duration <= Duration::from_secs(100 * 365 * 86400) { Ok(duration) } else { Err(wrong()) }
}

/// A whole number that the library takes.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().filter(|number| *number <= i32::MAX as usize);
    number.ok_or_else(|| format!("it is not a whole number up to {}", i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_fits_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn times_have_units_or_are_seconds() {
        for (text, millis) in
            [("0", 0), ("5", 5_000), ("250ms", 250), ("1.5m", 90_000), ("2h", 7_200_000), ("1d", 86_400_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "1e3", "inf", "nan", "1w", "1 s", "1.2.3", "99999999999d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_page_of_the_command_that_was_meant_is_named() {
        let words = ["zkrecipes", "--hosts", "a", "queue", "put", "/a", "--priority"].map(OsString::from);
        assert_eq!(page(&words), "zkrecipes queue put");
    }

    #[test]
    fn a_mistake_is_told_in_one_line() {
        let told = |words: &[&str]| {
            let words = ["zkrecipes"].iter().chain(words);
            sentence(&Cli::try_parse_from(words).err().expect("a mistake").render().to_string())
        };
        assert_eq!(
            told(&["ls", "--jso", "/a"]),
            "unexpected argument '--jso' found; a similar argument exists: '--json'"
        );
        assert_eq!(told(&["break", "/a"]), "the following required arguments were not provided: <NODE>");
    }
}
