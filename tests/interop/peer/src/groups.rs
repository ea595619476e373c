//! Groups: `join`, `update`, `leave`, `members` and `follow`.

use std::collections::HashMap;
use std::sync::Mutex;

use zkrecipes::{Client, Error, Feed, Group, GroupEvent, GroupOptions};

use crate::{Answer, say};

/// The handles of one owner, by kind and path.
#[derive(Default)]
pub(crate) struct Groups(Mutex<HashMap<(String, String), Group>>);

impl Groups {
    pub(crate) async fn perform(&self, client: &Client, owner: &str, verb: &str, rest: &[&str]) -> Answer {
        let [kind, path, rest @ ..] = rest else { return Err(Error::invalid(verb, "KIND PATH …")) };
        let group = self.handle(client, kind, path)?;
        match (verb, rest) {
            ("join", [name]) => group.join(name, b"").await?,
            ("join", [name, data]) => group.join(name, data.as_bytes()).await?,
            ("update", [data]) => group.update(data.as_bytes()).await?,
            ("leave", []) => group.leave().await?,
            ("members", []) => return group.members().await.map(words),
            ("follow", []) => {
                let mut feed = group.watch();
                let Some(GroupEvent::Snapshot(members)) = feed.next().await.transpose()? else {
                    return Err(Error::invalid("follow", "was told no snapshot"));
                };
                tokio::spawn(tell(feed, owner.to_owned(), (*path).to_owned()));
                return Ok(words(members));
            }
            _ => return Err(Error::invalid("verb", format!("{verb} is not one of groups"))),
        }
        Ok(String::new())
    }

    fn handle(&self, client: &Client, kind: &str, path: &str) -> Result<Group, Error> {
        let mut groups = self.0.lock().unwrap();
        let key = (kind.to_owned(), path.to_owned());
        if let Some(group) = groups.get(&key) {
            return Ok(group.clone());
        }
        let layout = kind.strip_prefix("group:").ok_or_else(|| Error::invalid("kind", "is no group"))?;
        let group = client.group(path, GroupOptions::default().layout(layout.parse()?))?;
        groups.insert(key, group.clone());
        Ok(group)
    }
}

async fn tell(mut feed: Feed<GroupEvent>, owner: String, path: String) {
    while let Some(Ok(event)) = feed.next().await {
        let (what, member) = match event {
            GroupEvent::Joined { name, data } => ("joined", word(&name, &data)),
            GroupEvent::Changed { name, data } => ("changed", word(&name, &data)),
            GroupEvent::Left { name } => ("left", name),
            other => ("other", format!("{other:?}")),
        };
        say(&format!("event {owner} {what} {path} {member}"));
    }
}

fn words(members: impl IntoIterator<Item = (String, Vec<u8>)>) -> String {
    let words = members.into_iter().map(|(name, data)| word(&name, &data));
    words.collect::<Vec<_>>().join(" ")
}

fn word(name: &str, data: &[u8]) -> String {
    format!("{name}={}", String::from_utf8_lossy(data))
}
