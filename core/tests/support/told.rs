//! What the library tells those who listen to it, for tests that want to read it.

use std::sync::{LazyLock, Mutex};

use zkrecipes::drive::log::{self, Level, Record, Value};

/// Everything that this process has told since the first look.
pub static SAID: LazyLock<&Mutex<Vec<Record>>> = LazyLock::new(|| {
    let said: &'static Mutex<Vec<Record>> = Box::leak(Box::default());
    log::listen(Level::Debug, |record| said.lock().expect("no panic").push(record.clone()));
    said
});

/// What was said with this text in one of its fields, in order.
pub fn said_of(text: &str) -> Vec<Record> {
    let mentions = |record: &&Record| record.fields.iter().any(|(_, value)| value.to_string().contains(text));
    SAID.lock().expect("no panic").iter().filter(mentions).cloned().collect()
}

/// What was said of this event, in order.
pub fn said(event: &str) -> Vec<Record> {
    let is_it = |record: &&Record| record.event == event;
    SAID.lock().expect("no panic").iter().filter(is_it).cloned().collect()
}

pub fn events(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.event.as_str()).collect()
}

pub fn field<'a>(record: &'a Record, name: &str) -> Option<&'a Value> {
    record.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
}

pub fn number(record: &Record, name: &str) -> i64 {
    match field(record, name) {
        Some(Value::Number(number)) => *number,
        other => panic!("{name} is {other:?} in {record:?}"),
    }
}

pub fn text(record: &Record, name: &str) -> String {
    match field(record, name) {
        Some(Value::Text(text)) => text.clone(),
        other => panic!("{name} is {other:?} in {record:?}"),
    }
}

pub fn the<'a>(records: &'a [Record], event: &str) -> &'a Record {
    records.iter().find(|record| record.event == event).unwrap_or_else(|| panic!("no {event}: {records:?}"))
}
