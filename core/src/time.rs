//! Limits: one place that turns each language's numbers into a limit.
//!
//! A limit is `Option<Duration>`: `None` is for ever, zero is one attempt without waiting.

use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};

// A duration beyond this is for ever for every practical purpose, and adding it to a clock cannot overflow.
pub(crate) const A_CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// C: milliseconds, any negative is for ever.
pub fn from_millis(_argument: &str, ms: i64) -> Option<Duration> {
    u64::try_from(ms).ok().map(Duration::from_millis)
}

/// Python: float seconds. NaN and negatives are Invalid, except −1 for a wait without limit, as in `threading`.
pub fn from_seconds(argument: &str, seconds: f64, minus_one_is_forever: bool) -> Result<Option<Duration>> {
    if seconds == -1.0 && minus_one_is_forever {
        return Ok(None);
    }
    if seconds.is_nan() || seconds < 0.0 {
        let forever = if minus_one_is_forever { "None or -1" } else { "None" };
        return Err(Error::invalid(
            argument,
            format!("{seconds} is not a duration; use seconds ≥ 0, and {forever} for a wait without limit"),
        ));
    }
    Ok(duration_from(seconds))
}

/// Node: milliseconds, Infinity is for ever. NaN and negatives are Invalid.
pub fn from_js_millis(argument: &str, ms: f64) -> Result<Option<Duration>> {
    if ms.is_nan() || ms < 0.0 {
        return Err(Error::invalid(
            argument,
            format!("{ms} is not a duration; use milliseconds ≥ 0, and Infinity for a wait without limit"),
        ));
    }
    Ok(duration_from(ms / 1000.0))
}

/// Python: float seconds of what has to end, such as a session timeout.
pub fn finite_seconds(argument: &str, seconds: f64) -> Result<Duration> {
    finite(argument, seconds, seconds, "seconds")
}

/// Node: the same in milliseconds.
pub fn finite_js_millis(argument: &str, ms: f64) -> Result<Duration> {
    finite(argument, ms, ms / 1000.0, "milliseconds")
}

fn finite(argument: &str, given: f64, seconds: f64, unit: &str) -> Result<Duration> {
    if seconds.is_nan() || seconds < 0.0 {
        return Err(Error::invalid(argument, format!("{given} is not a duration; use {unit} ≥ 0")));
    }
    duration_from(seconds).ok_or_else(|| {
        Error::invalid(argument, format!("{given:e} {unit} are too long; it has to end within a century"))
    })
}

fn duration_from(seconds: f64) -> Option<Duration> {
    if seconds >= A_CENTURY.as_secs_f64() { None } else { Some(Duration::from_secs_f64(seconds)) }
}

/// A moment of the calendar as people read it, in UTC and to the second: `2026-11-22T23:08:43Z`.
pub(crate) fn rfc3339(at: SystemTime) -> String {
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Counted in years that begin in March, so that the day that some years have more is their last.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_as_a_date() {
        let at = |seconds| rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_388_923), "2026-11-22T23:08:43Z");
        assert_eq!(at(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    }

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

    #[test]
    fn what_has_to_end_is_neither_negative_nor_for_ever() {
        let problem = |given| finite_seconds("ttl", given).unwrap_err().to_string();
        for negative in [f64::NAN, -0.5, -1.0, f64::NEG_INFINITY] {
            assert!(problem(negative).contains("not a duration"), "{}", problem(negative));
        }
        for long in [1e308, f64::INFINITY] {
            assert!(problem(long).contains("too long"), "{}", problem(long));
            assert!(finite_js_millis("ttl", long).unwrap_err().to_string().contains("too long"));
        }
        assert_eq!(finite_seconds("ttl", 0.0).unwrap(), Duration::ZERO);
        assert_eq!(finite_js_millis("ttl", 1500.0).unwrap(), Duration::from_millis(1500));
    }
}
