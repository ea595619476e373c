//! `zkrecipes queue dead PATH`: the items that have failed too often, and why.

use std::time::SystemTime;

use zkrecipes::DeadLetter;

use super::Which;
use crate::outcome::{self, Outcome};
use crate::skipped;
use crate::table::{self, Fields, Text};

const HEADINGS: [&str; 5] = ["NODE", "ATTEMPTS", "SINCE", "REASON", "DATA"];
/// So many characters of a reason, and of data, are shown in a table.
const SHOWN: usize = 80;

pub(super) fn show(which: &Which, letters: Vec<DeadLetter>, is_long: bool, is_json: bool) -> Outcome {
    if is_json || is_long {
        // They are shown, with what is wrong with them.
        drop(skipped::so_far());
    }
    if is_json {
        return outcome::print(&table::json_array(letters.iter().map(fields)));
    }
    if is_long {
        return outcome::print(&table::below(HEADINGS, letters.iter().map(row)));
    }
    let readable = letters.into_iter().filter(|letter| letter.problem.is_none());
    which.print(readable.map(|letter| letter.data))?;
    Ok(0)
}

fn fields(letter: &DeadLetter) -> Fields {
    let mut fields = table::object([
        ("node", letter.id.as_str().into()),
        ("attempts", letter.attempts.into()),
        ("reason", letter.reason.as_deref().into()),
        ("died_at", died_at(letter).map(table::timestamp).into()),
        ("problem", letter.problem.as_deref().into()),
    ]);
    Text::of(&letter.data).add_to(&mut fields, "data");
    fields
}

fn row(letter: &DeadLetter) -> [String; 5] {
    let age = died_at(letter).map(|died_at| SystemTime::now().duration_since(died_at).unwrap_or_default());
    let why = letter.problem.as_deref().or(letter.reason.as_deref()).unwrap_or("-");
    [
        Text::of(letter.id.as_bytes()).shown(SHOWN),
        letter.attempts.to_string(),
        age.map_or_else(|| "-".to_owned(), table::age),
        Text::of(why.as_bytes()).shown(SHOWN),
        Text::of(&letter.data).shown(SHOWN),
    ]
}

/// Of one that may not be read some servers do not say it.
fn died_at(letter: &DeadLetter) -> Option<SystemTime> {
    Some(letter.died_at).filter(|died_at| *died_at != SystemTime::UNIX_EPOCH)
}
