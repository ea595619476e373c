//! Contenders carry a random mark in their names, and server and core keep names in order: on the wire every mark is
//! replaced by one that follows from the seed, so that chance from elsewhere leaves no mark on the schedule. Who lists
//! nodes sees its own mark, by which it knows them again, and everybody else's as the server has them.

use std::collections::HashMap;

use crate::rng::Rng;
use crate::standing::{Kind, parse};

/// Which mark of the core stands for which on the server. Only looked up, never walked through.
#[derive(Default)]
pub struct Names {
    /// Marks are the same everywhere: for recipes that write names of nodes into nodes.
    is_plain: bool,
    to_server: HashMap<String, String>,
    to_core: HashMap<String, String>,
    /// The mark, as the server has it, that a task made last.
    own: HashMap<u64, String>,
}

/// What stands before, in and after the part of a node's name that is like no other, in everybody's way to name nodes:
/// `_c_<guid>-…`, `x-<32 hex>-…`, `<32 hex>__…`, and `<28 hex><number>` of which several are made at once.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.rfind('/').map_or(0, |slash| slash + 1);
    let name = &text[start..];
    let (skipped, length) = match name.strip_prefix("_c_") {
        Some(_) => (3, 36),
        None if name.len() == 32 => (0, 28),
        None => (if name.starts_with("x-") { 2 } else { 0 }, 32),
    };
    let mark = name.get(skipped..skipped + length)?;
    let is_unique = mark.bytes().all(|byte| byte.is_ascii_hexdigit() || length == 36 && byte == b'-');
    let (from, to) = (start + skipped, start + skipped + length);
    is_unique.then(|| (&text[..from], &text[from..to], &text[to..]))
}

impl Names {
    pub fn plain() -> Names {
        Names { is_plain: true, ..Names::default() }
    }

    pub fn outgoing(&mut self, rng: &mut Rng, task: u64, text: &str) -> String {
        let Some((before, mark, after)) = split(text).filter(|_| !self.is_plain) else {
            return text.to_owned();
        };
        if self.to_core.contains_key(mark) {
            return text.to_owned();
        }
        let known = self.to_server.entry(mark.to_owned()).or_insert_with(|| {
            let (high, low) = (rng.next(), rng.next());
            let [a, b, c] = [high >> 32, high >> 16 & 0xffff, high & 0xffff];
            let fresh = format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff);
            let fresh = match mark.len() {
                36 => fresh,
                shorter => fresh.replace('-', "")[..shorter].to_owned(),
            };
            self.to_core.insert(fresh.clone(), mark.to_owned());
            self.own.insert(task, fresh.clone());
            fresh
        });
        format!("{before}{known}{after}")
    }

    /// By what a task that lists nodes now will look for its own; one that makes none looks for any.
    pub fn own(&self, task: u64) -> Option<String> {
        self.own.get(&task).cloned()
    }

    /// A name in a list, for who looks for `own`.
    pub fn listed(&self, own: Option<&String>, name: &str) -> String {
        let is_foreign = |own: &String| split(name).is_some_and(|(_, mark, _)| mark != own);
        if own.is_some_and(is_foreign) { name.to_owned() } else { self.incoming(name) }
    }

    /// A task that will list to see who is there, not to find its own.
    pub fn disown(&mut self, task: u64) {
        self.own.insert(task, String::new());
    }

    pub fn incoming(&self, text: &str) -> String {
        match split(text) {
            Some((before, mark, after)) => {
                let known = self.to_core.get(mark).map_or(mark, String::as_str);
                format!("{before}{known}{after}")
            }
            None => text.to_owned(),
        }
    }
}

/// A path as the trace shows it: contenders by their number alone, if they have one, with a letter for what they want
/// and, where there are several queues, with the queue.
pub fn short(path: &str) -> String {
    let (Some((_, mark, after)), Some((parent, name))) = (split(path), path.rsplit_once('/')) else {
        return path.to_owned();
    };
    let queue = parent.rsplit('/').next().filter(|queue| queue.len() == 1).unwrap_or_default();
    if name.len() == 32 || after.starts_with("-lease-") {
        return format!("permit {}{after}", &mark[..4]);
    }
    let (kind, number) = parse(name);
    let kind = match kind {
        Kind::Read => "r",
        Kind::Write => "w",
        _ => "",
    };
    match number {
        // Past the end of the range they all have the same.
        Some(i32::MAX | ..0) => format!("{queue}{kind}#late-{}", &mark[..4]),
        Some(number) => format!("{queue}{kind}#{number}"),
        None => format!("{queue}{kind}#new"),
    }
}
