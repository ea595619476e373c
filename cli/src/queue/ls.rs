//! `zkrecipes queue ls PATH`: the items, and how each of them stands.

use std::time::SystemTime;

use serde_json::Value;
use zkrecipes::drive::{ListedItem, ListedState};

use crate::outcome::{self, Outcome};
use crate::table::{self, Fields, Text};

const HEADINGS: [&str; 6] = ["NODE", "STATE", "ATTEMPTS", "SINCE", "BY", "DATA"];
/// So many characters of data are shown in a table.
const SHOWN: usize = 80;

pub(super) fn show(path: &str, items: &[ListedItem], is_json: bool) -> Outcome {
    if is_json {
        return outcome::print(&table::json_array(items.iter().map(|item| fields(path, item))));
    }
    outcome::print(&table::below(HEADINGS, items.iter().map(|item| row(path, item))))
}

/// Below the path of the queue, as in other lists.
fn node<'a>(path: &str, item: &'a ListedItem) -> &'a str {
    item.path.strip_prefix(path).map_or(&*item.path, |below| below.trim_start_matches('/'))
}

fn fields(path: &str, item: &ListedItem) -> Fields {
    let (state, delayed_ms, claim) = match &item.state {
        ListedState::Ready => ("ready", None, None),
        ListedState::Delayed(left) => ("delayed", Some(left.as_millis() as u64), None),
        ListedState::Claimed(claim) => ("claimed", None, claim.as_ref()),
    };
    let mut fields = table::object([
        ("node", node(path, item).into()),
        ("state", state.into()),
        ("attempts", item.attempts.into()),
        ("delayed_ms", delayed_ms.into()),
        ("identity", claim.map(|claim| claim.identity.as_str()).into()),
        ("session_id", claim.map(|claim| format!("{:#x}", claim.session_id)).into()),
        ("since", claim.map(|claim| table::timestamp(claim.since)).into()),
    ]);
    match &item.data {
        Some(data) => Text::of(data).add_to(&mut fields, "data"),
        None => _ = fields.insert("data".to_owned(), Value::Null),
    }
    fields
}

fn row(path: &str, item: &ListedItem) -> [String; 6] {
    let (state, since, by) = match &item.state {
        ListedState::Ready => ("ready".to_owned(), "-".to_owned(), "-".to_owned()),
        ListedState::Delayed(left) => (format!("in {}", table::age(*left)), "-".to_owned(), "-".to_owned()),
        ListedState::Claimed(None) => ("claimed".to_owned(), "-".to_owned(), "?".to_owned()),
        ListedState::Claimed(Some(claim)) => {
            let age = SystemTime::now().duration_since(claim.since).unwrap_or_default();
            ("claimed".to_owned(), table::age(age), table::shown_who(&claim.identity))
        }
    };
    let attempts = item.attempts.map_or_else(|| "?".to_owned(), |attempts| attempts.to_string());
    let data = item.data.as_ref().map_or_else(|| "?".to_owned(), |data| Text::of(data).shown(SHOWN));
    [Text::of(node(path, item).as_bytes()).shown(SHOWN), state, attempts, since, by, data]
}
