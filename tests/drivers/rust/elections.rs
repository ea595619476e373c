//! Elections: standing, leading term after term, and what is known of the leader.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use tokio::sync::oneshot;
use zkrecipes::{Client, Election, Error, Leadership};

use super::generated::election_options;
use super::{Answer, print};

/// By client and name: how to end the term in progress.
#[derive(Default)]
pub struct Terms {
    ends: Mutex<HashMap<(String, String), oneshot::Sender<bool>>>,
    unhealthy: Mutex<HashSet<(String, String)>>,
}

/// Made of `PATH [data=TEXT] [layout=LAYOUT]`.
pub fn make(client: &Client, path: &str, rest: &[&str]) -> Result<Election, Error> {
    let (data, options): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| word.starts_with("data="));
    let data = data.first().map_or("", |word| &word["data=".len()..]);
    client.election(path, data.as_bytes(), election_options(&options)?)
}

/// Says when a term is over, however it ends.
struct Over(String);

impl Drop for Over {
    fn drop(&mut self) {
        print(&self.0);
    }
}

impl Terms {
    /// What a run says of itself from now on.
    pub fn set_healthy(&self, key: &(String, String), healthy: bool) -> Answer {
        let mut unhealthy = self.unhealthy.lock().unwrap();
        let _ = if healthy { unhealthy.remove(key) } else { unhealthy.insert(key.clone()) };
        Ok(vec![])
    }

    /// Leads term after term; each lasts until it is ended by [`Terms::end`], or lost.
    pub async fn run(&self, election: Election, key: &(String, String)) -> Answer {
        let term = |leadership: Leadership| async move {
            let (client, name) = key;
            let (end, ended) = oneshot::channel();
            self.ends.lock().unwrap().insert(key.clone(), end);
            print(&format!("event {client} term {name} {}", leadership.epoch()));
            let _over = Over(format!("event {client} over {name} {}", leadership.epoch()));
            match ended.await {
                Ok(true) => Err("told to fail"),
                _ => Ok(()),
            }
        };
        let healthy = || !self.unhealthy.lock().unwrap().contains(key);
        election.run_while_healthy(term, healthy).await.map(|()| vec![])
    }

    /// Ends the term in progress, if wanted with an error.
    pub fn end(&self, key: &(String, String), fails: bool) -> Answer {
        let end = self.ends.lock().unwrap().remove(key);
        let told = end.is_some_and(|end| end.send(fails).is_ok());
        if told { Ok(vec![]) } else { Err(Error::invalid("name", "leads no term")) }
    }
}
