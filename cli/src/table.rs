//! Contenders as a table for people and as JSON for programs.

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use crate::contenders::Row;

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
    let width = |column: usize| cells.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    cells
        .iter()
        .map(|line| {
            let padded = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        })
        .collect()
}

/// What is shown of who it is.
pub(crate) fn shown_identity(row: &Row) -> String {
    match row.identity() {
        Some("") => "-".to_owned(),
        Some(identity) => printable(identity),
        None => "(asked to let go)".to_owned(),
    }
}

/// The fields of a contender, without the braces.
pub(crate) fn json_fields(row: &Row) -> String {
    let identity = row.identity().map_or("null".to_owned(), quoted);
    format!(
        "\"place\":{},\"holds\":{},\"asked\":{},\"kind\":{},\"identity\":{identity},\"since\":{},\"session\":\"{:#x}\",\"node\":{}",
        row.place,
        row.contender.holds,
        row.is_asked(),
        quoted(&row.contender.kind),
        quoted(&timestamp(row.contender.since)),
        row.contender.session_id,
        quoted(row.node()),
    )
}

/// A string of JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // Also DEL and the C1 controls: output ends up in terminals.
            c if c.is_control() => write!(out, "\\u{:04x}", c as u32).expect("a String takes everything"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Others write identities and node names: nothing in them may steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
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
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (seconds, days) = (since.as_secs() % 86400, since.as_secs() / 86400);
    // Years that begin in March have their leap day at the end, and 400 of them are always 146,097 days.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        since.subsec_millis()
    )
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
    fn nothing_steers_the_terminal() {
        assert_eq!(quoted("a\"b\\\n\u{1b}[2J\u{9b}é"), r#""a\"b\\\u000a\u001b[2J\u009bé""#);
        assert_eq!(printable("a\u{1b}[2J"), "a\u{fffd}[2J");
    }
}
