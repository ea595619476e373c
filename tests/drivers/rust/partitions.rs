//! What a partitioner's member has won.

use std::collections::HashMap;
use std::sync::Mutex;

use zkrecipes::{Error, ErrorKind, Held};

use super::generated::Recipes;
use super::print;
use super::reading::{Answer, millis};

/// What was won, by client, name of the member, and partition.
#[derive(Default)]
pub struct Won(Mutex<HashMap<(String, String, String), Held>>);

impl Won {
    /// Whether this is a command for a partition; if so, its answer.
    pub async fn perform(&self, recipes: &Recipes, words: &[String]) -> Option<Answer> {
        let arguments: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        Some(match (words[1].as_str(), &arguments[..]) {
            ("next-partition", [named, rest @ ..]) => self.next(recipes, &words[0], named, rest).await,
            ("has-partition", [named, partition]) => {
                self.of(&words[0], named, partition).map(|held| vec![held.is_held().to_string()])
            }
            ("release-partition", [named, partition]) => match self.of(&words[0], named, partition) {
                Ok(held) => held.release().await.map(|()| vec![]),
                Err(error) => Err(error),
            },
            _ => return None,
        })
    }

    async fn next(&self, recipes: &Recipes, client: &str, named: &str, rest: &[&str]) -> Answer {
        let member = recipes.partitioner.of(&(client.to_owned(), named.to_owned()))?;
        let won = member.next(millis(rest.first())).await?;
        let partition = won.name().to_owned();
        let about = format!("{named} {partition}");
        let (of, what) = (client.to_owned(), about.clone());
        let _ = won.on_revoke(move || print(&format!("event {of} revoked {what}")));
        let of = client.to_owned();
        let _ = won.on_lost(move |error| {
            let reason = error.reason().map_or("", |reason| reason.name());
            print(&format!("event {of} lost {about} {reason}"));
        });
        let key = (client.to_owned(), named.to_owned(), partition.clone());
        self.0.lock().unwrap().insert(key, won);
        Ok(vec![partition])
    }

    fn of(&self, client: &str, named: &str, partition: &str) -> Result<Held, Error> {
        let key = (client.to_owned(), named.to_owned(), partition.to_owned());
        let found = self.0.lock().unwrap().get(&key).cloned();
        found.ok_or_else(|| Error::new(ErrorKind::NotHeld, "it was not won"))
    }

    pub fn forget(&self, client: &str, named: &str) {
        self.0.lock().unwrap().retain(|(of, member, _), _| (&**of, &**member) != (client, named));
    }
}
