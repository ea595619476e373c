//! Barriers: `create`, `remove` and `wait` of the plain one, `enter` and `leave` of the double one.

use std::collections::HashMap;
use std::sync::Mutex;

use zkrecipes::{Client, DoubleBarrier, Error};

use crate::{Answer, milliseconds, number};

/// The double barriers of one owner, by kind and path: one handle is one member.
#[derive(Default)]
pub(crate) struct Barriers(Mutex<HashMap<(String, String), DoubleBarrier>>);

impl Barriers {
    pub(crate) async fn perform(&self, client: &Client, verb: &str, rest: &[&str]) -> Answer {
        let [kind, path, rest @ ..] = rest else { return Err(Error::invalid(verb, "KIND PATH …")) };
        match (verb, rest) {
            ("create", []) => client.barrier(path)?.create().await?,
            ("remove", []) => client.barrier(path)?.remove().await?,
            ("wait", [limit]) => client.barrier(path)?.wait(milliseconds(limit)?).await?,
            ("enter", [limit]) => {
                self.handle(client, kind, path)?.enter(milliseconds(limit)?).await?;
            }
            ("leave", []) => self.handle(client, kind, path)?.leave(None).await?,
            _ => return Err(Error::invalid("verb", format!("{verb} is not one of barriers"))),
        }
        Ok(String::new())
    }

    fn handle(&self, client: &Client, kind: &str, path: &str) -> Result<DoubleBarrier, Error> {
        let mut handles = self.0.lock().unwrap();
        let key = (kind.to_owned(), path.to_owned());
        if let Some(barrier) = handles.get(&key) {
            return Ok(barrier.clone());
        }
        let parties =
            kind.strip_prefix("double:").ok_or_else(|| Error::invalid("kind", "is no double barrier"))?;
        let barrier = client.double_barrier(path, number(parties)? as usize, None)?;
        handles.insert(key, barrier.clone());
        Ok(barrier)
    }
}
