//! Limits: one place that turns each language's numbers into a limit, and one deadline for a whole call.
//!
//! A limit is `Option<Duration>`: `None` is for ever, zero is one attempt without waiting.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::session::clock::Moment;

// A duration beyond this is for ever for every practical purpose, and adding it to a clock cannot overflow.
const A_CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// C: milliseconds, any negative is for ever.
pub fn from_millis(_argument: &str, ms: i64) -> Option<Duration> {
    u64::try_from(ms).ok().map(Duration::from_millis)
}

/// Python: float seconds. NaN and negatives are Invalid, except −1 where a lock allows it, as `threading` does.
pub fn from_seconds(argument: &str, seconds: f64, minus_one_is_forever: bool) -> Result<Option<Duration>> {
    if seconds == -1.0 && minus_one_is_forever {
        return Ok(None);
    }
    if seconds.is_nan() || seconds < 0.0 {
        let forever = if minus_one_is_forever { "None or -1" } else { "None" };
        return Err(Error::invalid(
            argument,
            format!("{seconds} is not a duration; use seconds ≥ 0, or {forever} to wait for ever"),
        ));
    }
    Ok(duration_from(seconds))
}

/// Node: milliseconds, Infinity is for ever. NaN and negatives are Invalid.
pub fn from_js_millis(argument: &str, ms: f64) -> Result<Option<Duration>> {
    if ms.is_nan() || ms < 0.0 {
        return Err(Error::invalid(
            argument,
            format!("{ms} is not a duration; use milliseconds ≥ 0, or Infinity to wait for ever"),
        ));
    }
    Ok(duration_from(ms / 1000.0))
}

fn duration_from(seconds: f64) -> Option<Duration> {
    if seconds >= A_CENTURY.as_secs_f64() { None } else { Some(Duration::from_secs_f64(seconds)) }
}

/// One deadline for a whole call, however many requests and wake-ups it takes.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Deadline(Option<Moment>);

impl Deadline {
    pub(crate) fn after(now: Moment, limit: Option<Duration>) -> Deadline {
        Deadline(limit.filter(|limit| *limit < A_CENTURY).map(|limit| now + limit))
    }

    pub(crate) fn at(self) -> Option<Moment> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_its_own_for_ever() {
        assert_eq!(from_millis("timeout", -7), None);
        assert_eq!(from_millis("timeout", 0), Some(Duration::ZERO));
        assert_eq!(from_seconds("timeout", -1.0, true).unwrap(), None);
        assert_eq!(from_seconds("timeout", f64::INFINITY, false).unwrap(), None);
        assert_eq!(from_js_millis("timeout", f64::INFINITY).unwrap(), None);
        assert_eq!(from_js_millis("timeout", 1500.0).unwrap(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn what_is_no_duration_is_invalid_and_named() {
        for bad in [f64::NAN, -0.5, -2.0, f64::NEG_INFINITY] {
            assert!(from_seconds("timeout", bad, true).unwrap_err().to_string().contains("timeout"));
            assert!(from_js_millis("timeout", bad).unwrap_err().to_string().contains("timeout"));
        }
        assert!(from_seconds("timeout", -1.0, false).is_err());
    }
}
