//! What takes bytes from outside, each as a function of bytes alone. `make fuzz` looks for bytes that break a promise; those
//! that were found, and those that reach what others do not, are kept and played by a test.

use crate::hosts;
use crate::recipes::{discovery, queue};
use crate::session::wire;
use crate::tls;
use crate::turn::name::ContenderName;
use crate::turn::order::Contenders;

/// Panics where a promise is broken.
pub type FuzzTarget = fn(&[u8]);

/// By their names.
pub const TARGETS: &[(&str, FuzzTarget)] = &[
    ("contenders", contenders),
    ("hosts", connect_string),
    ("instance", discovery::fuzzed::data),
    ("item", queue::fuzzed::data),
    ("item-names", queue::fuzzed::names),
    ("machine", wire::fuzzed::play),
    ("pem", tls::fuzzed::sections),
    ("sasl", wire::fuzzed::challenges),
    ("uri", discovery::fuzzed::spec),
];

/// Names of nodes below the path of a lock, a line each: their order is one, whoever looks.
fn contenders(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let names: Vec<String> = text.lines().map(str::to_owned).collect();
    let found: Vec<_> = names.iter().filter_map(|name| ContenderName::recognise(name)).collect();
    for one in &found {
        for other in &found {
            let both = (one.precedes(other), other.precedes(one));
            let is_order = match both {
                (Some(a), Some(b)) => a != b || one == other,
                (None, None) => one.is_late() && other.is_late(),
                _ => false,
            };
            assert!(is_order, "{one:?} and {other:?}: {both:?}");
        }
    }
    let all = Contenders::read(&names);
    assert_eq!(all.count(), found.len());
    for one in &found {
        assert!(all.has(one), "{one:?}");
        let before = all.before(one);
        assert!(before.iter().all(|earlier| earlier.precedes(one) != Some(false)), "{one:?}");
        assert!(before.count() <= found.len());
    }
}

/// A connect string: what is accepted names a server, and says the same when it is read again.
fn connect_string(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // That starts a server.
    if text.trim_start().is_empty() || text.contains("embedded:") {
        return;
    }
    let Ok(hosts) = hosts::resolve(&text) else { return };
    assert_eq!(hosts::resolve(&hosts).ok(), Some(hosts.clone()));
    assert!(!hosts::servers(&hosts).is_empty(), "{hosts}");
    let chroot = hosts::chroot(&hosts);
    assert!(chroot.is_empty() || chroot.starts_with('/') && !chroot.ends_with('/'), "{chroot}");
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Each line of a file is an input in hexadecimal digits.
    #[test]
    fn what_was_found_once_breaks_nothing() {
        for (name, target) in TARGETS {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/fuzz/corpus/{name}.txt"));
            let kept = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(kept.lines().count() > 3, "{name}: nothing is kept");
            for line in kept.lines() {
                let byte = |at| u8::from_str_radix(&line[at..at + 2], 16).expect("two digits");
                target(&(0..line.len()).step_by(2).map(byte).collect::<Vec<u8>>());
            }
        }
    }
}
