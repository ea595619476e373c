//! Faults from one line of text. The grammar stands in the [module above](super).

use super::rules::UNDER_QUOTA;
use super::{Act, Fault, glob_matches};
use crate::wire::Op;
use std::time::Duration;

impl Fault {
    /// Reads a fault from text.
    ///
    /// ```
    /// use zkrecipes_embedded::Fault;
    ///
    /// let fault = Fault::parse("drop_after create2 path=/locks/** nth=2").unwrap();
    /// assert_eq!(fault, Fault::drop_after("create2").path("/locks/**").nth(2));
    /// assert!(Fault::parse("drop_after creat").unwrap_err().contains("creat"));
    /// ```
    pub fn parse(text: &str) -> Result<Fault, String> {
        let mut words = text.split_whitespace().peekable();
        let action = words.next().ok_or("an empty fault: write an action, such as \"drop_after create\"")?;
        let op = match words.peek() {
            Some(word) if !word.contains('=') => Some(words.next().unwrap_or_default()),
            _ => None,
        };
        let settings = words
            .map(|w| w.split_once('=').ok_or_else(|| format!("{w:?} is not of the form key=value")))
            .collect::<Result<Vec<_>, _>>()?;
        let mut fault = start(action, op, &settings)?;
        for (at, &(key, value)) in settings.iter().enumerate() {
            if settings[..at].iter().any(|(before, _)| *before == key) {
                return Err(format!("{key}= is given twice; write it once"));
            }
            fault = set(fault, key, value)?;
        }
        can_fire(action, &fault, &settings)?;
        Ok(fault)
    }
}

fn start(action: &str, op: Option<&str>, settings: &[(&str, &str)]) -> Result<Fault, String> {
    let delay = || {
        let by = settings.iter().find(|(key, _)| *key == "by");
        by.ok_or_else(|| format!("{action} needs how long, such as by=200ms")).and_then(|(_, v)| duration(v))
    };
    let about = || known_op(op.unwrap_or("*"));
    let fault = match action {
        "drop_before" => Fault::drop_before(about()?),
        "drop_after" => Fault::drop_after(about()?),
        "answer_expired" => Fault::answer_expired(about()?),
        "answer_throttled" => Fault::answer_throttled(about()?),
        "answer_quota_exceeded" => Fault::answer_quota_exceeded(about()?),
        "delay_request" => Fault::delay_request(about()?, delay()?),
        "delay_reply" => Fault::delay_reply(about()?, delay()?),
        _ if op.is_some() => {
            return Err(match UNTARGETED.contains(&action) {
                true => format!("{action} takes no operation, but {:?} was given", op.unwrap_or_default()),
                false => unknown_action(action),
            });
        }
        "drop_after_event" => Fault::drop_after_event(),
        "refuse_connections" => Fault::refuse_connections(1),
        "stall_connections" => Fault::stall_connections(lasting(action, settings)?),
        "swallow_pings" => Fault::swallow_pings(lasting(action, settings)?),
        "black_hole" => Fault::black_hole(),
        "black_hole_requests" => Fault::black_hole_requests(),
        "black_hole_replies" => Fault::black_hole_replies(),
        _ => return Err(unknown_action(action)),
    };
    Ok(fault)
}

const TARGETED: [&str; 7] = [
    "drop_before",
    "drop_after",
    "answer_expired",
    "answer_throttled",
    "answer_quota_exceeded",
    "delay_request",
    "delay_reply",
];
const UNTARGETED: [&str; 7] = [
    "drop_after_event",
    "refuse_connections",
    "stall_connections",
    "swallow_pings",
    "black_hole",
    "black_hole_requests",
    "black_hole_replies",
];

fn unknown_action(action: &str) -> String {
    format!("unknown fault {action:?}: there are {} and {}", TARGETED.join(", "), UNTARGETED.join(", "))
}

fn lasting(action: &str, settings: &[(&str, &str)]) -> Result<Duration, String> {
    let lasts = settings.iter().find(|(key, _)| *key == "for");
    lasts
        .ok_or_else(|| format!("{action} needs how long it lasts, such as for=2s"))
        .and_then(|(_, v)| duration(v))
}

fn known_op(op: &str) -> Result<&str, String> {
    match op.split('|').find(|part| !Op::NAMES.iter().any(|name| glob_matches(part, name))) {
        Some(part) => Err(format!("no operation is called {part:?}: there are {}", Op::NAMES.join(", "))),
        None => Ok(op),
    }
}

/// What looks at requests, events or connections that a fault with these settings is never about would be green in every test.
fn can_fire(action: &str, fault: &Fault, settings: &[(&str, &str)]) -> Result<(), String> {
    let heeded = heeded_keys(action);
    if let Some((key, _)) = settings.iter().find(|(key, _)| !heeded.contains(key)) {
        return Err(format!("{action} does not heed {key}=; it heeds {}", heeded.join(", ")));
    }
    if UNTARGETED.contains(&action) {
        return Ok(());
    }
    let named = |name: &str| fault.op.split('|').any(|part| glob_matches(part, name));
    let is_about_all = fault.op.split('|').any(|part| part == "*");
    if is_about_all {
        return Ok(());
    }
    if fault.act == Act::AnswerQuotaExceeded && !UNDER_QUOTA.iter().chain(&["multi"]).any(|name| named(name))
    {
        return Err(format!(
            "a quota refuses none of {}, so it never fires; there are {} and multi",
            fault.op,
            UNDER_QUOTA.join(", ")
        ));
    }
    let are_all_among =
        |few: &[&str]| Op::NAMES.iter().filter(|name| named(name)).all(|name| few.contains(name));
    if fault.path.is_some() && are_all_among(&WITHOUT_PATH) {
        return Err(format!("{} has no path, so with path= it never fires; leave path= out", fault.op));
    }
    if fault.request_number.is_some() && are_all_among(&UNCOUNTED) {
        return Err(format!("request= does not count {}, so it never fires; give nth=", fault.op));
    }
    Ok(())
}

/// The operations that are about no path.
const WITHOUT_PATH: [&str; 9] =
    ["ping", "connect", "close", "auth", "sasl", "whoAmI", "reconfig", "setWatches", "setWatches2"];
/// What `request=` does not count.
const UNCOUNTED: [&str; 2] = ["ping", "connect"];

fn heeded_keys(action: &str) -> &'static [&'static str] {
    match action {
        "delay_request" | "delay_reply" => &["path", "session", "nth", "request", "times", "by", "for"],
        "drop_after_event" => &["path", "session", "nth", "times", "for"],
        // Of a session in front of whose client a proxy stands.
        "refuse_connections" => &["session", "nth", "times", "for"],
        "stall_connections"
        | "swallow_pings"
        | "black_hole"
        | "black_hole_requests"
        | "black_hole_replies" => &["session", "for"],
        _ => &["path", "session", "nth", "request", "times", "for"],
    }
}

fn set(fault: Fault, key: &str, value: &str) -> Result<Fault, String> {
    let number = || match value.parse::<u64>() {
        Ok(0) => Err(format!("{key}={value}: it is counted from 1, so it never fires")),
        number => number.map_err(|_| format!("{key}={value}: not a number")),
    };
    Ok(match key {
        "path" if !value.starts_with(['/', '*', '?']) => {
            return Err(format!(
                "{key}={value}: a path begins with /, so it never fires; write path=/{value}"
            ));
        }
        "path" => fault.path(value),
        "session" => {
            let id = match value.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16),
                None => value.parse(),
            };
            fault.session(id.map_err(|_| format!("{key}={value}: not a session id"))?)
        }
        "nth" => fault.nth(number()?),
        "request" => fault.request_number(number()?),
        "times" if value == "forever" => fault.forever(),
        "times" => fault.times(number()?),
        "by" => match fault.act {
            Act::DelayRequest(_) | Act::DelayReply(_) => fault,
            _ => {
                return Err(
                    "by= belongs to delay_request and delay_reply; how long others last is for=".to_owned()
                );
            }
        },
        "for" if duration(value)?.is_zero() => {
            return Err(format!(
                "{key}={value}: it is over before it fires; give a longer time, or leave it out"
            ));
        }
        "for" => fault.lasting(duration(value)?),
        _ => {
            return Err(format!(
                "unknown key {key:?}: there are path, session, nth, request, times, by and for"
            ));
        }
    })
}

/// `50ms`, `2s`, `1m`.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        _ => return Err(format!("{text:?} is not a duration: write 50ms, 2s or 1m")),
    };
    let ms = number.parse::<u64>().ok().and_then(|n| n.checked_mul(scale));
    ms.map(Duration::from_millis).ok_or_else(|| format!("{text:?} is not a duration: write 50ms, 2s or 1m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_can_be_written_down() {
        let ms = Duration::from_millis;
        let cases = [
            ("drop_before", Fault::drop_before("*")),
            ("drop_after create|delete session=0x1f", Fault::drop_after("create|delete").session(31)),
            ("drop_after_event path=/a", Fault::drop_after_event().path("/a")),
            ("delay_request ping by=50ms", Fault::delay_request("ping", ms(50))),
            ("delay_reply getData by=2s times=forever", Fault::delay_reply("getData", ms(2000)).forever()),
            ("answer_expired * request=4", Fault::answer_expired("*").request_number(4)),
            ("answer_throttled getData", Fault::answer_throttled("getData")),
            ("answer_quota_exceeded create*|multi", Fault::answer_quota_exceeded("create*|multi")),
            ("refuse_connections times=3", Fault::refuse_connections(3)),
            ("stall_connections for=1m", Fault::stall_connections(ms(60_000))),
            ("swallow_pings for=7ms", Fault::swallow_pings(ms(7))),
            ("black_hole", Fault::black_hole()),
            ("black_hole_requests for=1s", Fault::black_hole_requests().lasting(ms(1000))),
            ("black_hole_replies", Fault::black_hole_replies()),
        ];
        for (text, fault) in cases {
            assert_eq!(Fault::parse(text), Ok(fault), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, named) in [
            ("", "empty"),
            ("explode", "explode"),
            ("explode create", "explode"),
            ("drop_after creat", "creat"),
            ("black_hole create", "create"),
            ("drop_after create nth", "nth"),
            ("drop_after create nth=two", "two"),
            ("drop_after create by=2s", "for="),
            ("delay_reply create", "by="),
            ("delay_reply create by=2h", "2h"),
            ("swallow_pings", "for="),
            ("drop_after create colour=red", "colour"),
            ("black_hole for=2", "50ms"),
            ("drop_after create* path=locks/**", "path=/locks/**"),
            ("drop_after create times=0", "times=0"),
            ("drop_after create nth=0", "nth=0"),
            ("drop_after create request=0", "request=0"),
            ("drop_after create times=2 times=3", "twice"),
            ("drop_after create for=0s", "for=0s"),
            ("black_hole path=/x", "path="),
            ("swallow_pings for=1s nth=2 times=2", "nth="),
            ("refuse_connections path=/x", "path="),
            ("drop_after_event request=2", "request="),
            ("answer_quota_exceeded getData|delete", "getData|delete"),
            ("drop_before ping|connect path=/x", "ping|connect"),
            ("drop_before setWatches* path=/x", "setWatches*"),
            ("delay_reply ping by=1s request=3", "nth="),
        ] {
            let error = Fault::parse(text).unwrap_err();
            assert!(error.contains(named), "{text:?} gave {error:?}");
        }
    }
}
