//! What many share and follow: configs, names, groups, elections and plain nodes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use zkrecipes::{
    Client, Config, Election, Error, ErrorKind, Group, GroupEvent, Leader, Names, NodeState, Subscription,
    Versioned, WatchKind, drive,
};

use super::generated::group_options;
use super::{Answer, one, print};

/// A handle by client and name, and who follows it.
#[derive(Default)]
pub struct Shared {
    handles: Mutex<HashMap<(String, String), Handle>>,
    followed: Mutex<HashMap<(String, String), Subscription>>,
}

#[derive(Clone)]
enum Handle {
    Config(Config),
    Names(Names),
    Group(Group),
    Nodes(String, WatchKind),
    Election(Election),
}

impl Shared {
    /// Whether this is the command for it; if so, its answer.
    pub async fn perform(&self, client: &Client, words: &[String]) -> Option<Answer> {
        let arguments: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        let key = (words[0].clone(), arguments.first().copied().unwrap_or_default().to_owned());
        Some(match (words[1].as_str(), &arguments[..]) {
            ("config", [_, path]) => self.make(&key, client.config(path).map(Handle::Config)),
            ("config-get", [_]) => match self.config(&key) {
                Ok(config) => config.get().await.map(versioned),
                Err(error) => Err(error),
            },
            ("config-set", [_, value, version @ ..]) => match self.config(&key) {
                Ok(config) => {
                    let version = version.first().map(|text| text.parse().unwrap_or(-1));
                    config.set(value.as_bytes(), version).await.and_then(one)
                }
                Err(error) => Err(error),
            },
            ("config-create", [_, value]) => match self.config(&key) {
                Ok(config) => config.create(value.as_bytes()).await.and_then(one),
                Err(error) => Err(error),
            },
            ("names", [_, path]) => self.make(&key, client.names(path).map(Handle::Names)),
            ("group", [_, path, rest @ ..]) => {
                let made = group_options(rest).and_then(|options| client.group(path, options));
                self.make(&key, made.map(Handle::Group))
            }
            ("watch-node", [_, path, kind]) => {
                self.make(&key, kind.parse().map(|kind| Handle::Nodes((*path).to_owned(), kind)))
            }
            ("bind" | "lookup" | "unbind" | "list", _) => match self.handle(&key) {
                Ok(Handle::Names(names)) => named(&names, &words[1], &arguments[1..]).await,
                Ok(_) => Err(Error::invalid("name", "is not of names")),
                Err(error) => Err(error),
            },
            ("join" | "leave" | "update" | "members", _) => match self.handle(&key) {
                Ok(Handle::Group(group)) => in_group(&group, &words[1], &arguments[1..]).await,
                Ok(_) => Err(Error::invalid("name", "is not of a group")),
                Err(error) => Err(error),
            },
            ("follow", [_]) => self.follow(client, &key),
            ("unfollow", [_]) => {
                if let Some(subscription) = self.followed.lock().unwrap().remove(&key) {
                    subscription.unsubscribe();
                }
                Ok(vec![])
            }
            _ => return None,
        })
    }

    fn make(&self, key: &(String, String), handle: Result<Handle, Error>) -> Answer {
        self.handles.lock().unwrap().insert(key.clone(), handle?);
        Ok(vec![])
    }

    /// An election can be followed, too.
    pub fn keep_election(&self, key: &(String, String), election: Election) {
        self.handles.lock().unwrap().insert(key.clone(), Handle::Election(election));
    }

    fn handle(&self, key: &(String, String)) -> Result<Handle, Error> {
        let found = self.handles.lock().unwrap().get(key).cloned();
        found.ok_or_else(|| Error::invalid("name", "has not been made"))
    }

    fn config(&self, key: &(String, String)) -> Result<Config, Error> {
        match self.handle(key)? {
            Handle::Config(config) => Ok(config),
            _ => Err(Error::invalid("name", "is not of a config")),
        }
    }

    fn follow(&self, client: &Client, key: &(String, String)) -> Answer {
        let (told, ended) =
            (format!("event {} told {}", key.0, key.1), format!("event {} ended {}", key.0, key.1));
        let end = move |error: Option<Error>| {
            print(&format!(
                "{ended} {}",
                error.as_ref().map_or("closed", |error| ErrorKind::name(error.kind()))
            ));
        };
        let subscription = match self.handle(key)? {
            Handle::Config(config) => {
                let tell = move |now| print(&format!("{told} {}", versioned(now).join(" ")));
                drive::feed(client, config.watch(), tell, end)?
            }
            Handle::Names(names) => {
                let tell = move |all| print(&format!("{told} {}", map(&all)));
                drive::feed(client, names.watch(), tell, end)?
            }
            Handle::Group(group) => {
                let tell = move |event| print(&format!("{told} {}", happened(event)));
                drive::feed(client, group.watch(), tell, end)?
            }
            Handle::Nodes(path, kind) => {
                let tell = move |state| print(&format!("{told} {}", stands(state)));
                drive::feed(client, client.nodes().watch(&path, kind)?, tell, end)?
            }
            Handle::Election(election) => {
                let tell = move |now| print(&format!("{told} {}", leader(now).join(" ")));
                drive::feed(client, election.observe(), tell, end)?
            }
        };
        self.followed.lock().unwrap().insert(key.clone(), subscription);
        Ok(vec![])
    }
}

async fn named(names: &Names, verb: &str, arguments: &[&str]) -> Answer {
    match (verb, arguments) {
        ("bind", [name, data, rest @ ..]) => {
            let ephemeral = rest.first() == Some(&"ephemeral");
            names.bind(name, data.as_bytes(), ephemeral).await.map(|()| vec![])
        }
        ("lookup", [name]) => one(names.lookup(name).await?.map_or("none".to_owned(), |data| text(&data))),
        ("unbind", [name]) => names.unbind(name).await.map(|()| vec![]),
        ("list", []) => names.list().await,
        _ => Err(Error::invalid("verb", format!("{verb} is not understood"))),
    }
}

async fn in_group(group: &Group, verb: &str, arguments: &[&str]) -> Answer {
    match (verb, arguments) {
        ("join", [name, data @ ..]) => {
            let data = data.first().copied().unwrap_or_default();
            group.join(name, data.as_bytes()).await.map(|()| vec![])
        }
        ("leave", []) => group.leave().await.map(|()| vec![]),
        ("update", [data]) => group.update(data.as_bytes()).await.map(|()| vec![]),
        ("members", []) => one(map(&group.members().await?)),
        _ => Err(Error::invalid("verb", format!("{verb} is not understood"))),
    }
}

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

/// `a=1,b=2`, sorted by name, or `-`.
fn map(all: &BTreeMap<String, Vec<u8>>) -> String {
    let all: Vec<_> = all.iter().map(|(name, data)| format!("{name}={}", text(data))).collect();
    if all.is_empty() { "-".to_owned() } else { all.join(",") }
}

fn happened(event: GroupEvent) -> String {
    match event {
        GroupEvent::Snapshot(members) => format!("snapshot {}", map(&members)),
        GroupEvent::Joined { name, data } => format!("joined {name} {}", text(&data)),
        GroupEvent::Left { name } => format!("left {name}"),
        GroupEvent::Changed { name, data } => format!("changed {name} {}", text(&data)),
        unknown => format!("{unknown:?}"),
    }
}

fn stands(state: NodeState) -> String {
    match state {
        NodeState::Data(None) | NodeState::Children(None) => "none".to_owned(),
        NodeState::Data(Some((data, stat))) => format!("{} {}", stat.version, text(&data)),
        NodeState::Children(Some(names)) if names.is_empty() => "-".to_owned(),
        NodeState::Children(Some(names)) => names.join(","),
        NodeState::Subtree(all) => map(&all.into_iter().map(|(path, (data, _))| (path, data)).collect()),
    }
}

fn versioned(now: Option<Versioned>) -> Vec<String> {
    match now {
        Some(now) => vec![now.version.to_string(), String::from_utf8_lossy(&now.value).into_owned()],
        None => vec!["none".to_owned()],
    }
}

/// What there is to say of a leader.
pub fn leader(now: Option<Leader>) -> Vec<String> {
    let Some(leader) = now else { return vec!["none".to_owned()] };
    let stage = if leader.acknowledged { "acknowledged" } else { "elected" };
    let data = match leader.data.is_empty() {
        true => "-".to_owned(),
        false => String::from_utf8_lossy(&leader.data).into_owned(),
    };
    vec![leader.identity, leader.epoch.to_string(), stage.to_owned(), data]
}
