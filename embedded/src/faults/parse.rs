//! Faults from one line of text. The grammar stands in the [module above](super).

use super::{Fault, glob_matches};
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
        for (key, value) in settings {
            fault = set(fault, key, value)?;
        }
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

const TARGETED: [&str; 6] =
    ["drop_before", "drop_after", "answer_expired", "answer_throttled", "delay_request", "delay_reply"];
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

fn set(fault: Fault, key: &str, value: &str) -> Result<Fault, String> {
    let number = || value.parse::<u64>().map_err(|_| format!("{key}={value}: not a number"));
    Ok(match key {
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
            super::Act::DelayRequest(_) | super::Act::DelayReply(_) => fault,
            _ => {
                return Err(
                    "by= belongs to delay_request and delay_reply; how long others last is for=".to_owned()
                );
            }
        },
        "for" => fault.lasting(duration(value)?),
        _ => {
            return Err(format!(
                "unknown key {key:?}: there are path, session, nth, request, times, by and for"
            ));
        }
    })
}

/// `50ms`, `2s`, `1m`; a bare number counts milliseconds.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "" | "ms" => 1,
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
            ("refuse_connections times=3", Fault::refuse_connections(3)),
            ("stall_connections for=1m", Fault::stall_connections(ms(60_000))),
            ("swallow_pings for=7", Fault::swallow_pings(ms(7))),
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
        ] {
            let error = Fault::parse(text).unwrap_err();
            assert!(error.contains(named), "{text:?} gave {error:?}");
        }
    }
}
