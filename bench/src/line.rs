//! The lines that a worker obeys, and its answers.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Display;
use std::io::stdin;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A verb and its parameters.
pub struct Order {
    pub verb: String,
    parameters: HashMap<String, String>,
}

impl Order {
    pub fn read(line: &str) -> Order {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or_default().to_owned();
        let parameters =
            words.filter_map(|word| word.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned()));
        Order { verb, parameters: parameters.collect() }
    }

    pub fn text(&self, name: &str) -> &str {
        self.parameters.get(name).map_or_else(|| panic!("{} needs {name}", self.verb), String::as_str)
    }

    pub fn text_or<'a>(&'a self, name: &str, otherwise: &'a str) -> &'a str {
        self.parameters.get(name).map_or(otherwise, String::as_str)
    }

    pub fn path(&self) -> &str {
        self.text("path")
    }

    pub fn number(&self, name: &str) -> usize {
        self.text(name).parse().unwrap_or_else(|_| panic!("{name} of {} is no number", self.verb))
    }
}

/// What an order came to: the words after "ok", or None if the worker does not know the verb.
pub type Answer = Result<Option<String>, Box<dyn Error>>;

pub fn done() -> Answer {
    Ok(Some(String::new()))
}

pub fn list(name: &str, numbers: &[u64]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
    format!("{name}={}", numbers.join(","))
}

pub fn say(answer: Answer) {
    match answer {
        Ok(Some(words)) => println!("ok {words}"),
        Ok(None) => println!("unsupported"),
        Err(error) => println!("error {}", one_line(&error)),
    }
}

fn one_line(what: impl Display) -> String {
    what.to_string().replace('\n', " | ")
}

/// The lines that come in, for a worker that has tasks to go on with meanwhile.
pub fn lines() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        for line in stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// The monotonic clock in nanoseconds, which all processes of a machine share.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is that of a timespec of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
