//! The verbs of a scenario that the server and the observer answer.

use super::Play;
use super::matching::matches_pattern;
use crate::driver::Answer;
use crate::observer::{self, EPHEMERAL, EPHEMERAL_SEQUENTIAL, Failure, PERSISTENT};
use crate::world::Told;

impl Play<'_> {
    /// Server and observer verbs that answer something.
    pub(super) fn query(&mut self, words: &[String]) -> Told<Answer> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let done = |()| Answer::ok([]);
        let one = |value: String| Answer::ok([value]);
        match words[..] {
            ["server", "stop"] => self.world.stop().map(done),
            ["server", "start"] => self.world.start().map(done),
            ["server", "restart"] => self.world.stop().and_then(|()| self.world.start()).map(done),
            ["server", "kill", member] => self.world.kill_member(member).map(done),
            ["server", "revive", member] => self.world.start_member(member).map(done),
            ["server", "drop"] => {
                self.world.drop_connections();
                Ok(done(()))
            }
            ["server", "pause"] => {
                self.inside()?.pause();
                Ok(done(()))
            }
            ["server", "resume"] => {
                self.inside()?.resume();
                Ok(done(()))
            }
            ["server", "expire", client] => {
                let session = self.session(client)?;
                self.world.expire(session).map(done)
            }
            ["server", "fired", fault] => {
                let fault = self.faults.get(fault).ok_or("no fault has this label")?;
                Ok(one(self.world.fired(fault).to_string()))
            }
            ["server", "clear-faults"] => {
                self.world.clear_faults();
                Ok(done(()))
            }
            ["server", "next-sequence", path, number] => {
                let number = number.parse().map_err(|_| "next-sequence takes a number")?;
                match self.inside()?.set_next_sequence(path, number) {
                    true => Ok(done(())),
                    false => Err(format!("{path} does not exist")),
                }
            }
            ["server", "clear-log"] => {
                self.inside()?.clear_log();
                Ok(done(()))
            }
            ["server", "requests", client, operation] => {
                let session = self.session(client)?;
                let log = self.inside()?.log();
                let matching = log
                    .iter()
                    .filter(|entry| entry.session_id == session && matches_pattern(operation, entry.op));
                Ok(one(matching.count().to_string()))
            }
            ["zk", verb, path, ref rest @ ..] => Ok(self.look(verb, path, rest)),
            _ => Err("not understood".into()),
        }
    }

    pub(super) fn look(&mut self, verb: &str, path: &str, rest: &[&str]) -> Answer {
        let data = rest.first().copied().unwrap_or_default().as_bytes();
        let answer = match verb {
            "create" => self.observer.create(path, data, PERSISTENT).map(|made| vec![made]),
            "create-ephemeral" => self.observer.create(path, data, EPHEMERAL).map(|made| vec![made]),
            "create-sequential" => {
                self.observer.create(path, data, EPHEMERAL_SEQUENTIAL).map(|made| vec![made])
            }
            "delete" => self.observer.delete(path).map(|()| vec![]),
            "delete-all" => self.observer.delete_all(path).map(|()| vec![]),
            "delete-at-once" => self.observer.delete_at_once(path).map(|()| vec![]),
            "set" => self.observer.set(path, data).map(|()| vec![]),
            "allow" => match observer::permissions(rest.first().copied().unwrap_or_default()) {
                Some(permissions) => self.observer.allow(path, permissions).map(|()| vec![]),
                None => return Answer::error("not some of rwcda"),
            },
            "exists" => self.observer.exists(path).map(|there| vec![there.to_string()]),
            "data" => {
                self.observer.node(path).map(|node| vec![String::from_utf8_lossy(&node.data).into_owned()])
            }
            "count" => self.count(path).map(|count| vec![count.to_string()]),
            // The node of the contender whose data is this identity.
            "node-of" => {
                self.contender(path, rest.first().copied().unwrap_or_default()).map(|path| vec![path])
            }
            // The same without its parent.
            "name-of" => self.contender(path, rest.first().copied().unwrap_or_default()).map(|found| {
                let name = found.rsplit('/').next().unwrap_or_default();
                vec![name.to_owned()]
            }),
            "czxid" => self.observer.node(path).map(|node| vec![node.czxid.to_string()]),
            "suffix" => return Answer::ok([path[path.len().saturating_sub(10)..].to_owned()]),
            _ => return Answer::error("not understood"),
        };
        match answer {
            Ok(values) => {
                if verb.starts_with("create") {
                    self.known.extend(values.iter().cloned());
                }
                Answer::ok(values)
            }
            Err(error) => Answer::error(error.to_string().trim_start_matches("error ")),
        }
    }

    pub(super) fn count(&mut self, path: &str) -> Result<usize, Failure> {
        match self.observer.children(path) {
            Ok(children) => Ok(children.len()),
            Err(Failure::Server(crate::observer::NO_NODE)) => Ok(0),
            Err(error) => Err(error),
        }
    }

    pub(super) fn contender(&mut self, path: &str, identity: &str) -> Result<String, Failure> {
        for child in self.observer.children(path)? {
            let child = format!("{path}/{child}");
            if self.observer.node(&child).is_ok_and(|node| node.data == identity.as_bytes()) {
                return Ok(child);
            }
        }
        Err(Failure::Server(crate::observer::NO_NODE))
    }
}
