//! Tables for people, JSON for programs.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use zkrecipes::Contender;
use zkrecipes::drive::log::steers;

use crate::contenders::{ASKED, Row};

/// So many characters of a name are shown: anybody may write a longer one.
const LONGEST_NAME: usize = 80;
/// A column is no wider, the last one aside: every row would be padded as far.
const WIDEST: usize = 256;

const HEADINGS: [&str; 7] = ["PLACE", "HOLDS", "KIND", "IDENTITY", "SINCE", "SESSION", "NODE"];

/// One line per contender under a line of headings.
pub(crate) fn lines(rows: &[Row], now: SystemTime) -> Vec<String> {
    let cells: Vec<[String; 7]> = std::iter::once(HEADINGS.map(str::to_owned))
        .chain(rows.iter().map(|row| {
            [
                row.place.to_string(),
                if row.contender.holds { "yes" } else { "no" }.to_owned(),
                row.contender.kind.clone(),
                shown_identity(row),
                age(now.duration_since(row.contender.since).unwrap_or_default()),
                format!("{:#x}", row.contender.session_id),
                printable(row.node()),
            ]
        }))
        .collect();
    columns(&cells)
}

/// One line per row of cells, padded so that they stand in columns; the last one is as it is.
pub(crate) fn columns<const N: usize>(cells: &[[String; N]]) -> Vec<String> {
    let shown = |row: &'_ [String; N], column: usize| match column + 1 == N {
        true => row[column].clone(),
        false => cut(&row[column], WIDEST).into_owned(),
    };
    let cells: Vec<[String; N]> =
        cells.iter().map(|row| std::array::from_fn(|column| shown(row, column))).collect();
    let width = |column: usize| match column + 1 == N {
        true => 0,
        false => cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0),
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line += cell;
            line += &" ".repeat(width.saturating_sub(cell.chars().count()) + 2);
        }
        line.trim_end().to_owned()
    };
    cells.iter().map(line).collect()
}

/// A table; nothing where no row is, which the verb says in a sentence of its own.
pub(crate) fn below<const N: usize>(headings: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let cells: Vec<_> = std::iter::once(headings.map(str::to_owned)).chain(rows).collect();
    match cells.len() {
        1 => String::new(),
        _ => columns(&cells).join("\n") + "\n",
    }
}

/// That many characters, and a sign if there are more.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// What is shown of who was asked.
const REQUEST: &str = "(asked to let go)";

/// What is shown of who it is.
pub(crate) fn shown_identity(row: &Row) -> String {
    let who = shown_who(&row.contender.identity);
    let says_so = row.is_asked() && row.identity().is_some();
    if says_so { format!("{who} {REQUEST}") } else { who }
}

/// The same of what stands in a contender's node.
pub(crate) fn shown_who(identity: &str) -> String {
    match identity {
        "" => "-".to_owned(),
        ASKED => REQUEST.to_owned(),
        identity => cut(&printable(identity), LONGEST_NAME).into_owned(),
    }
}

/// A path in a column: its end tells more than its beginning.
pub(crate) fn shown_path(path: &str) -> String {
    let path = printable(path);
    let surplus = path.chars().count().saturating_sub(WIDEST);
    match path.char_indices().nth(surplus + 1) {
        Some((begin, _)) if surplus > 0 => format!("…{}", &path[begin..]),
        _ => path,
    }
}

/// An object of JSON.
pub(crate) type Fields = serde_json::Map<String, Value>;

/// The fields of a contender.
pub(crate) fn fields(row: &Row) -> Fields {
    let mut fields = object([("place", row.place.into())]);
    fields.extend(contender(&row.contender));
    fields
}

/// The same without its place.
pub(crate) fn contender(contender: &Contender) -> Fields {
    let identity = Some(contender.identity.as_str()).filter(|identity| *identity != ASKED);
    object([
        ("holds", contender.holds.into()),
        ("asked", contender.is_asked.into()),
        ("kind", contender.kind.as_str().into()),
        ("identity", identity.into()),
        ("since", timestamp(contender.since).into()),
        ("session", format!("{:#x}", contender.session_id).into()),
        ("node", contender.node.as_str().into()),
    ])
}

pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Fields {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An object of what happened now.
pub(crate) fn event(event: Option<&str>, fields: Fields) -> Fields {
    let mut all = object([("at", timestamp(SystemTime::now()).into())]);
    all.extend(event.map(|event| ("event".to_owned(), event.into())));
    all.extend(fields);
    all
}

/// One object in a line.
pub(crate) fn json(fields: Fields) -> String {
    unsteered(&Value::Object(fields).to_string())
}

/// JSON ends up in terminals: whatever steers these is escaped, as JSON itself has it of the first controls. Those that are
/// still there are in strings, but for the line feeds of JSON in several lines.
pub(crate) fn unsteered(json: &str) -> String {
    json.chars().fold(String::with_capacity(json.len()), |mut text, c| {
        match steers(c) && c != '\n' {
            true => write!(text, "\\u{:04x}", c as u32).expect("a String takes everything"),
            false => text.push(c),
        }
        text
    })
}

/// An array with an object in each line.
pub(crate) fn json_array(all: impl IntoIterator<Item = Fields>) -> String {
    format!("[{}]\n", all.into_iter().map(json).collect::<Vec<_>>().join(",\n "))
}

/// The data of a node, which may be anything.
pub(crate) enum Text<'a> {
    Plain(&'a str),
    Bytes(&'a [u8]),
}

impl Text<'_> {
    /// Text, if it is UTF-8 and has no control characters but those between lines and words.
    pub(crate) fn of(data: &[u8]) -> Text<'_> {
        let is_text = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
        match std::str::from_utf8(data) {
            Ok(text) if text.chars().all(is_text) => Text::Plain(text),
            _ => Text::Bytes(data),
        }
    }

    /// In one line of at most that many characters, which steer no terminal.
    pub(crate) fn shown(&self, most: usize) -> String {
        let line = match self {
            Text::Plain(text) => printable(&text.replace(['\t', '\n', '\r'], " ")),
            Text::Bytes(_) => format!("0x{}", self.hex()),
        };
        cut(&line, most).into_owned()
    }

    /// In its own lines, the same.
    pub(crate) fn lines(&self) -> String {
        match self {
            // It has no controls but those between lines and words.
            Text::Plain(text) => replaced(text, |c| steers(c) && !c.is_control()),
            Text::Bytes(_) => self.shown(usize::MAX),
        }
    }

    /// Adds it to an object; what is no text is `null`, and its bytes are in a second field, `hex`.
    pub(crate) fn add_to(&self, fields: &mut Fields, name: &str) {
        match self {
            Text::Plain(text) => drop(fields.insert(name.to_owned(), (*text).into())),
            Text::Bytes(_) => {
                fields.insert(name.to_owned(), Value::Null);
                fields.insert("hex".to_owned(), self.hex().into());
            }
        }
    }

    fn hex(&self) -> String {
        let bytes = match self {
            Text::Plain(text) => text.as_bytes(),
            Text::Bytes(bytes) => bytes,
        };
        bytes.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("a String takes everything");
            hex
        })
    }
}

/// Others write identities and node names: nothing in them may steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    replaced(text, steers)
}

fn replaced(text: &str, is_evil: impl Fn(char) -> bool) -> String {
    text.chars().map(|c| if is_evil(c) { '\u{fffd}' } else { c }).collect()
}

/// `3s`, `4m07s`, `2h05m`, `3d04h`.
pub(crate) fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match () {
        () if days > 0 => format!("{days}d{:02}h", hours % 24),
        () if hours > 0 => format!("{hours}h{:02}m", minutes % 60),
        () if minutes > 0 => format!("{minutes}m{:02}s", seconds % 60),
        () => format!("{seconds}s"),
    }
}

/// `2026-01-31T12:34:56.789Z`.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let at = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_the_calendar_has_them() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_704_067_199_000, "2023-12-31T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(SystemTime::UNIX_EPOCH + Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn ages_are_short() {
        for (seconds, text) in [(0, "0s"), (59, "59s"), (247, "4m07s"), (7500, "2h05m"), (273_600, "3d04h")] {
            assert_eq!(age(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn data_is_text_or_bytes() {
        for (data, shown, json) in [
            (&b""[..], "", r#""data":"""#),
            (b"a\tb\nc", "a b c", r#""data":"a\tb\nc""#),
            (&[0, 5], "0x0005", r#""data":null,"hex":"0005""#),
            (&[0xff], "0xff", r#""data":null,"hex":"ff""#),
            ("\u{9b}2J".as_bytes(), "0xc29b324a", r#""data":null,"hex":"c29b324a""#),
            ("a\u{202e}b\u{2066}".as_bytes(), "a\u{fffd}b\u{fffd}", r#""data":"a\u202eb\u2066""#),
        ] {
            let mut fields = Fields::new();
            Text::of(data).add_to(&mut fields, "data");
            let expected = (shown.to_owned(), format!("{{{json}}}"));
            assert_eq!((Text::of(data).shown(20), super::json(fields)), expected);
        }
        assert_eq!(Text::of("äöü".as_bytes()).shown(2), "äö…");
        assert_eq!(Text::of("äöü".as_bytes()).shown(3), "äöü");
        assert_eq!(Text::of("a\t\u{202e}b\nc".as_bytes()).lines(), "a\t\u{fffd}b\nc");
    }

    #[test]
    fn no_cell_makes_the_others_wide() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let long = "x".repeat(70_000);
        let lines = columns(&[row(["a", "b", "c"]), row(["ab", &long, "d"]), row(["a", "b", &long])]);
        assert_eq!(lines[0], format!("a   b{}c", " ".repeat(WIDEST + 2)));
        assert_eq!(lines[1], format!("ab  {}…  d", "x".repeat(WIDEST)));
        assert!(lines[2].ends_with(&long), "nothing stands behind the last one");
        assert_eq!(columns(&[row(["a", "", ""])]), ["a"]);

        assert_eq!(shown_who(&long), format!("{}…", "x".repeat(LONGEST_NAME)));
        assert_eq!(shown_path(&format!("/{long}/lock")), format!("…{}/lock", "x".repeat(WIDEST - 6)));
        for most in ["/locks/backup".to_owned(), "y".repeat(WIDEST)] {
            assert_eq!(shown_path(&most), most);
        }
    }

    #[test]
    fn nothing_steers_the_terminal() {
        let fields = object([("a", "a\"b\\\n\u{1b}[2J\u{9b}\u{202e}é".into())]);
        assert_eq!(json(fields), r#"{"a":"a\"b\\\n\u001b[2J\u009b\u202eé"}"#);
        assert_eq!(printable("a\u{1b}[2J\u{202e}b"), "a\u{fffd}[2J\u{fffd}b");
    }
}
