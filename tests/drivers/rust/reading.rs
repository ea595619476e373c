//! How an argument is read and an answer is said: once for each type.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

use zkrecipes::{Error, Leader, Partitions, Versioned};

pub type Answer = Result<Vec<String>, Error>;

/// A client, and the name that it gave.
pub type Key = (String, String);

/// The handles of one recipe.
pub struct Handles<T>(Mutex<HashMap<Key, T>>);

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Handles(Mutex::default())
    }
}

impl<T: Clone> Handles<T> {
    pub fn make(&self, key: Key, handle: T) -> Vec<String> {
        self.0.lock().unwrap().insert(key, handle);
        vec![]
    }

    pub fn of(&self, key: &Key) -> Result<T, Error> {
        self.find(key).ok_or_else(|| Error::invalid("name", format!("{} has not been made", key.1)))
    }

    pub fn find(&self, key: &Key) -> Option<T> {
        self.0.lock().unwrap().get(key).cloned()
    }

    pub fn forget(&self, key: &Key) {
        self.0.lock().unwrap().remove(key);
    }
}

pub fn optional<'a>(arguments: &[&'a str], at: usize) -> Option<&'a str> {
    arguments.get(at).copied().filter(|word| *word != "-")
}

pub fn text<'a>(arguments: &[&'a str], at: usize) -> Result<&'a str, Error> {
    arguments.get(at).copied().ok_or_else(|| Error::invalid("command", "has too few words"))
}

/// None is empty.
pub fn bytes<'a>(arguments: &[&'a str], at: usize) -> &'a [u8] {
    optional(arguments, at).unwrap_or_default().as_bytes()
}

pub fn number<T: FromStr>(name: &str, word: &str) -> Result<T, Error> {
    word.parse().map_err(|_| Error::invalid(name, format!("{word} is no number")))
}

/// Absent or negative = for ever.
pub fn millis(argument: Option<&&str>) -> Option<Duration> {
    argument.and_then(|text| text.parse().ok()).map(Duration::from_millis)
}

/// What an answer is in words.
pub trait Said {
    fn said(self) -> Vec<String>;
}

impl Said for () {
    fn said(self) -> Vec<String> {
        vec![]
    }
}

impl Said for bool {
    fn said(self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl Said for i32 {
    fn said(self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl Said for i64 {
    fn said(self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl Said for usize {
    fn said(self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl Said for Vec<String> {
    fn said(self) -> Vec<String> {
        self
    }
}

impl<T: Said> Said for Option<T> {
    fn said(self) -> Vec<String> {
        self.map_or_else(|| vec!["none".to_owned()], Said::said)
    }
}

impl Said for Vec<u8> {
    fn said(self) -> Vec<String> {
        vec![String::from_utf8_lossy(&self).into_owned()]
    }
}

/// Names, or how many.
pub fn partitions(text: &str) -> Partitions {
    match text.parse::<usize>() {
        Ok(count) => count.into(),
        Err(_) => text.split(',').map(str::to_owned).collect::<Vec<_>>().into(),
    }
}

impl Said for BTreeMap<String, Option<String>> {
    fn said(self) -> Vec<String> {
        let owners =
            self.into_iter().map(|(name, owner)| (name, owner.unwrap_or_else(|| "-".into()).into_bytes()));
        owners.collect::<BTreeMap<_, _>>().said()
    }
}

impl Said for BTreeMap<String, String> {
    fn said(self) -> Vec<String> {
        self.into_iter().map(|(path, cause)| (path, cause.into_bytes())).collect::<BTreeMap<_, _>>().said()
    }
}

impl Said for BTreeMap<String, u32> {
    fn said(self) -> Vec<String> {
        let weights = self.into_iter().map(|(name, weight)| (name, weight.to_string().into_bytes()));
        weights.collect::<BTreeMap<_, _>>().said()
    }
}

impl Said for BTreeMap<String, Vec<u8>> {
    fn said(self) -> Vec<String> {
        let all: Vec<_> =
            self.iter().map(|(name, data)| format!("{name}={}", String::from_utf8_lossy(data))).collect();
        vec![if all.is_empty() { "-".to_owned() } else { all.join(",") }]
    }
}

impl Said for Versioned {
    fn said(self) -> Vec<String> {
        [vec![self.version.to_string()], self.value.said()].concat()
    }
}

impl Said for Leader {
    fn said(self) -> Vec<String> {
        let stage = if self.acknowledged { "acknowledged" } else { "elected" };
        let data = if self.data.is_empty() { vec!["-".to_owned()] } else { self.data.said() };
        [vec![self.identity, self.epoch.to_string(), stage.to_owned()], data].concat()
    }
}
