//! The end of a scenario: nothing may be left behind.

use std::time::Instant;

use super::{PAUSE, Play, patience};
use crate::world::Told;

impl Play<'_> {
    /// Nothing may be left: no node while the clients are still there, no watch, and no session after them.
    pub(super) fn clean_ending(&mut self, path: &str) -> Told<()> {
        self.note("(nothing is left behind)");
        // Servers that count their sessions are not asked to forget a watch.
        let removes_watches = self.observer.session() > i64::from(u32::MAX);
        self.observer.end_session();
        for (client, name) in std::mem::take(&mut self.counters) {
            if self.clients.get(&client).is_some_and(|client| client.connected) {
                self.ask(&client, &["free".into(), name])?;
            }
        }
        self.until("nodes are left", |play| {
            let found = play.observer.walk(path).map_err(|error| error.to_string())?;
            let known = &play.known;
            let is_outcome = |path: &str| play.leaves_outcomes && path.contains("/outcomes/");
            let is_key = |path: &str| play.leaves_keys && path.contains("__queue__/keys");
            let is_known = |path: &String| known.contains(path) || is_outcome(path) || is_key(path);
            let left = found.into_iter().filter(|(path, owner)| *owner != 0 || !is_known(path));
            Ok(left.map(|(path, _)| path).collect())
        })?;
        if let Some(server) = self.world.inside().filter(|_| removes_watches) {
            let server = server.clone();
            self.until("watches are left", |_| match server.watch_count() {
                0 => Ok(vec![]),
                count => Ok(vec![count.to_string()]),
            })?;
        }
        let mut names: Vec<_> =
            self.clients.iter().filter(|(_, c)| c.connected).map(|(n, _)| n.clone()).collect();
        names.sort();
        for name in names {
            let answer = self.ask(&name, &["close".into(), "10000".into()])?;
            if !answer.ok {
                return Err(format!("{name} does not close: {answer}"));
            }
        }
        if let Some(server) = self.world.inside() {
            let server = server.clone();
            self.until("sessions are left", |play| {
                let ours = play.observer.session() as u64;
                Ok(server
                    .sessions()
                    .into_iter()
                    .filter(|id| *id != ours)
                    .map(|id| format!("{id:#x}"))
                    .collect())
            })?;
        }
        for driver in &self.drivers {
            let noise = driver.noise();
            if !noise.is_empty() {
                return Err(format!(
                    "the {} driver wrote what is no answer: {noise:?}",
                    driver.language.name()
                ));
            }
        }
        self.drivers.drain(..).try_for_each(|driver| driver.rest(patience()))
    }

    pub(super) fn until(
        &mut self,
        what: &str,
        mut left: impl FnMut(&mut Self) -> Told<Vec<String>>,
    ) -> Told<()> {
        let end = Instant::now() + patience();
        loop {
            let left = left(self)?;
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("{what}: {}", left.join(" ")));
            }
            self.world.check()?;
            std::thread::sleep(PAUSE);
        }
    }
}
