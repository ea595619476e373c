//! What stops many: until somebody says go, or until all are there.

use std::collections::HashMap;
use std::sync::Mutex;

use zkrecipes::{Barrier, Client, DoubleBarrier, Error};

use super::{Answer, millis, one};

/// A barrier by client and name.
#[derive(Default)]
pub struct Barriers(Mutex<HashMap<(String, String), Made>>);

#[derive(Clone)]
enum Made {
    Single(Barrier),
    Double(DoubleBarrier),
}

impl Barriers {
    /// Whether this is the command for it; if so, its answer.
    pub async fn perform(&self, client: &Client, words: &[String]) -> Option<Answer> {
        let arguments: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        let key = (words[0].clone(), arguments.first().copied().unwrap_or_default().to_owned());
        let made = match (words[1].as_str(), &arguments[..]) {
            ("barrier", [_, path]) => client.barrier(path).map(Made::Single),
            ("double-barrier", [_, path, parties, name @ ..]) => match parties.parse() {
                Ok(parties) => client.double_barrier(path, parties, name.first().copied()).map(Made::Double),
                Err(_) => Err(Error::invalid("parties", "is no number")),
            },
            (verb, [_, rest @ ..]) => {
                let verb = verb.strip_prefix("barrier-")?;
                let barrier = self.0.lock().unwrap().get(&key).cloned();
                return Some(match barrier {
                    Some(Made::Single(barrier)) => at(&barrier, verb, rest).await,
                    Some(Made::Double(barrier)) => through(&barrier, verb, rest).await,
                    None => Err(Error::invalid("name", "has not been made")),
                });
            }
            _ => return None,
        };
        Some(made.map(|made| {
            self.0.lock().unwrap().insert(key, made);
            vec![]
        }))
    }
}

async fn at(barrier: &Barrier, verb: &str, rest: &[&str]) -> Answer {
    match verb {
        "create" => barrier.create().await.map(|()| vec![]),
        "remove" => barrier.remove().await.map(|()| vec![]),
        "up" => one(barrier.is_up().await?),
        "wait" => barrier.wait(millis(rest.first())).await.map(|()| vec![]),
        _ => Err(Error::invalid("verb", format!("{verb} is not understood"))),
    }
}

async fn through(barrier: &DoubleBarrier, verb: &str, rest: &[&str]) -> Answer {
    match verb {
        "enter" => barrier.enter(millis(rest.first())).await.map(|()| vec![]),
        "leave" => barrier.leave(millis(rest.first())).await.map(|()| vec![]),
        "withdraw" => barrier.withdraw().map(|()| vec![]),
        "entered" => one(barrier.has_entered()),
        _ => Err(Error::invalid("verb", format!("{verb} is not understood"))),
    }
}
