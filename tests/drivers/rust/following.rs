//! What is followed: configs, names, groups, elections and plain nodes.

use std::collections::HashMap;
use std::sync::Mutex;

use zkrecipes::{
    Client, Discovery, Election, Error, ErrorKind, Feed, GroupEvent, NodeState, Subscription, WatchKind,
    drive,
};

use super::generated::Recipes;
use super::print;
use super::reading::{Answer, Handles, Key, Said};

/// What can be followed and is no other recipe, and who follows what.
#[derive(Default)]
pub struct Following {
    nodes: Handles<(String, WatchKind)>,
    pub elections: Handles<Election>,
    pub services: Handles<(Discovery, String)>,
    followed: Mutex<HashMap<Key, Subscription>>,
}

impl Following {
    /// Whether this is the command for it; if so, its answer.
    pub fn perform(&self, client: &Client, recipes: &Recipes, words: &[String]) -> Option<Answer> {
        let arguments: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        let key = (words[0].clone(), arguments.first().copied().unwrap_or_default().to_owned());
        Some(match (words[1].as_str(), &arguments[..]) {
            ("watch-node", [_, path, kind]) => {
                kind.parse().map(|kind| self.nodes.make(key, ((*path).to_owned(), kind)))
            }
            ("follow", [_]) => self.follow(client, recipes, &key),
            ("unfollow", [_]) => {
                if let Some(subscription) = self.followed.lock().unwrap().remove(&key) {
                    subscription.unsubscribe();
                }
                Ok(vec![])
            }
            _ => return None,
        })
    }

    fn follow(&self, client: &Client, recipes: &Recipes, key: &Key) -> Answer {
        let subscription = if let Some((path, kind)) = self.nodes.find(key) {
            told(client, key, client.nodes().watch(&path, kind)?)
        } else if let Some((discovery, service)) = self.services.find(key) {
            told(client, key, discovery.watch(&service)?)
        } else if let Some(election) = self.elections.find(key) {
            told(client, key, election.observe())
        } else if let Some(names) = recipes.names.find(key) {
            told(client, key, names.watch())
        } else if let Some(group) = recipes.group.find(key) {
            told(client, key, group.watch())
        } else if let Some(counter) = recipes.counter.find(key) {
            told(client, key, counter.watch())
        } else if let Some(partitioner) = recipes.partitioner.find(key) {
            told(client, key, partitioner.watch())
        } else {
            told(client, key, recipes.config.of(key)?.watch())
        };
        self.followed.lock().unwrap().insert(key.clone(), subscription?);
        Ok(vec![])
    }
}

/// Prints each item.
fn told<T: Said + Send + 'static>(
    client: &Client,
    (name, named): &Key,
    feed: Feed<T>,
) -> Result<Subscription, Error> {
    let (told, ended) = (format!("event {name} told {named}"), format!("event {name} ended {named}"));
    let end = move |error: Option<Error>| {
        print(&format!("{ended} {}", error.as_ref().map_or("closed", |error| ErrorKind::name(error.kind()))));
    };
    drive::feed(client, feed, move |item: T| print(&format!("{told} {}", item.said().join(" "))), end)
}

impl Said for GroupEvent {
    fn said(self) -> Vec<String> {
        let (what, said) = match self {
            GroupEvent::Snapshot(members) => ("snapshot", members.said()),
            GroupEvent::Joined { name, data } => ("joined", [vec![name], data.said()].concat()),
            GroupEvent::Left { name } => ("left", vec![name]),
            GroupEvent::Changed { name, data } => ("changed", [vec![name], data.said()].concat()),
            unknown => ("unknown", vec![format!("{unknown:?}")]),
        };
        [vec![what.to_owned()], said].concat()
    }
}

impl Said for NodeState {
    fn said(self) -> Vec<String> {
        match self {
            NodeState::Data(None) | NodeState::Children(None) => vec!["none".to_owned()],
            NodeState::Data(Some((data, stat))) => [vec![stat.version.to_string()], data.said()].concat(),
            NodeState::Children(Some(names)) if names.is_empty() => vec!["-".to_owned()],
            NodeState::Children(Some(names)) => vec![names.join(",")],
            NodeState::Subtree(all) => all
                .into_iter()
                .map(|(path, (data, _))| (path, data))
                .collect::<std::collections::BTreeMap<_, _>>()
                .said(),
        }
    }
}
