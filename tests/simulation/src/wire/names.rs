//! Contenders carry a random GUID in their names, and the server keeps names in order: on the wire every GUID is
//! replaced by one that follows from the seed, so that chance from elsewhere leaves no mark on the schedule.

use std::collections::HashMap;

use crate::rng::Rng;

/// Which GUID of the core stands for which on the server. Only looked up, never walked through.
#[derive(Default)]
pub struct Names {
    to_server: HashMap<String, String>,
    to_core: HashMap<String, String>,
}

const MARK: &str = "_c_";
const LENGTH: usize = 36;

/// What stands before, in and after the GUID.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let at = text.rfind(MARK)? + MARK.len();
    let end = at.checked_add(LENGTH).filter(|end| text.is_char_boundary(*end))?;
    Some((&text[..at], &text[at..end], &text[end..]))
}

impl Names {
    pub fn outgoing(&mut self, rng: &mut Rng, text: &str) -> String {
        let Some((before, guid, after)) = split(text) else { return text.to_owned() };
        let known = self.to_server.entry(guid.to_owned()).or_insert_with(|| {
            let (high, low) = (rng.next(), rng.next());
            let [a, b, c] = [high >> 32, high >> 16 & 0xffff, high & 0xffff];
            let fresh = format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff);
            self.to_core.insert(fresh.clone(), guid.to_owned());
            fresh
        });
        format!("{before}{known}{after}")
    }

    pub fn incoming(&self, text: &str) -> String {
        match split(text) {
            Some((before, guid, after)) => {
                let known = self.to_core.get(guid).map_or(guid, String::as_str);
                format!("{before}{known}{after}")
            }
            None => text.to_owned(),
        }
    }
}

/// A path as the trace shows it: contenders by their number alone.
pub fn short(path: &str) -> String {
    match (split(path), path.rsplit_once("-lock-")) {
        (Some(_), Some((_, ""))) => "#new".to_owned(),
        (Some(_), Some((_, number))) => format!("#{}", number.parse::<i32>().unwrap_or(0)),
        _ => path.to_owned(),
    }
}
