//! What is in an event of `tracing`'s, as values: for records of the faces.

use std::fmt::{Debug, Display, Formatter};

use tracing::Event;
use tracing::field::{Field, Visit};

use super::quoted;
use crate::printable::escaped;

/// What a field of a record says.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(i64),
    Flag(bool),
    Text(String),
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

/// Tells each field of an event. Its sentence is the field `message`. Others wrote some of it, and who listens may print it.
pub(crate) fn each(event: &Event<'_>, tell: impl FnMut(&'static str, Value)) {
    event.record(&mut Each(tell));
}

struct Each<F>(F);

impl<F: FnMut(&'static str, Value)> Visit for Each<F> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0(field.name(), Value::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0(field.name(), Value::Number(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0(field.name(), Value::Flag(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0(field.name(), Value::Text(escaped(value).into_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0(field.name(), Value::Text(escaped(&format!("{value:?}")).into_owned()));
    }
}
