//! The commands that a scenario has its clients do, on their way to the drivers.

use super::{Play, patience};
use crate::driver::Answer;
use crate::world::Told;

impl Play<'_> {
    pub(super) fn send(&mut self, client: &str, words: &[String]) -> Told<u64> {
        let mut command = words.join(" ");
        match (words[0].as_str(), words.get(1), words.get(2)) {
            ("connect", ..) => command = self.connecting(client, &words[1..]),
            (
                "lock" | "rwlock" | "counter" | "latch" | "election" | "names" | "group" | "double-barrier",
                Some(_),
                Some(path),
            ) => self.known_parents(path),
            ("semaphore", Some(_), Some(path)) => {
                // Curator's layout: who waits, who is inside, and our note of how many may be.
                ["locks", "leases", "max"]
                    .iter()
                    .for_each(|part| self.known_parents(&format!("{path}/{part}")));
            }
            // Who updates writes there what was made last; it goes when nothing is left in it.
            ("config", Some(_), Some(path)) => self.known_parents(&format!("{path}-__config__")),
            // The services that scenarios know: each is a container.
            ("discovery", Some(_), Some(path)) => {
                ["web", "mail"].iter().for_each(|name| self.known_parents(&format!("{path}/{name}")));
            }
            ("queue" | "priority-queue" | "delay-queue", Some(_), Some(path)) => {
                // What is ours stands beside the items, or below the path, and goes when nothing is left in it.
                let parts = ["claims", "marks", "puts", "waiting", "room", "numbers"];
                for queue in ["", "-__dead__", "/__dead__", "/0", "/1", "/2"] {
                    ["", "/entries", "/taken"]
                        .iter()
                        .for_each(|items| self.known_parents(&format!("{path}{queue}{items}")));
                    for part in parts {
                        self.known_parents(&format!("{path}{queue}-__queue__/{part}"));
                    }
                }
                parts.iter().for_each(|part| self.known_parents(&format!("{path}/__queue__/{part}")));
            }
            ("partitioner", Some(_), Some(path)) => {
                // Who is there, who assigns, and the locks of the partitions.
                ["leader", "members", "partitions"]
                    .iter()
                    .for_each(|part| self.known_parents(&format!("{path}/{part}")));
                let partitions = words.get(3).map_or("", String::as_str);
                for partition in partitions.split(',').chain(["0", "1"]) {
                    self.known_parents(&format!("{path}/partitions/{partition}"));
                }
            }
            ("2pc", Some(_), Some(path)) => {
                // Where everything of it is, and the inboxes of those who may be asked.
                ["transactions", "sites", "coordinators", "outcomes", "inbox/a", "inbox/b", "inbox/c"]
                    .iter()
                    .for_each(|part| self.known_parents(&format!("{path}/{part}")));
            }
            // A key is remembered until its window has passed and somebody puts with another one.
            ("put", ..) if words.iter().any(|word| word.starts_with("key=")) => self.leaves_keys = true,
            // What was taken over leaves its outcome for a day.
            ("2pc-recover", ..) => self.leaves_outcomes = true,
            ("create", Some(path), _) | ("guarded-create" | "ack-with-create", _, Some(path)) => {
                self.known.insert(path.clone());
            }
            _ => {}
        }
        let index = self.clients.get(client).ok_or_else(|| format!("no client {client}"))?.driver;
        self.drivers[index].send(client, &command)
    }

    pub(super) fn connecting(&mut self, client: &str, options: &[String]) -> String {
        let mut hosts = self.world.hosts();
        let mut given = Vec::new();
        for option in options {
            match option.split_once('=') {
                Some(("chroot", chroot)) => hosts.push_str(chroot),
                Some(("hosts", elsewhere)) => hosts = elsewhere.to_owned(),
                _ => given.push(option.clone()),
            }
        }
        // The session of a process that is killed has to run out before the scenario can go on.
        let timeout = if self.scenario.kills(client) { "2500" } else { "8000" };
        for (name, value) in
            [("session_timeout", timeout), ("connect_timeout", "15000"), ("identity", client)]
        {
            if !given.iter().any(|option| option.starts_with(&format!("{name}="))) {
                given.push(format!("{name}={value}"));
            }
        }
        if let Some(client) = self.clients.get_mut(client) {
            client.connected = true;
        }
        format!("connect {hosts} {}", given.join(" "))
    }

    pub(super) fn known_parents(&mut self, path: &str) {
        for (end, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            self.known.insert(path[..end].to_owned());
        }
    }

    pub(super) fn ask(&mut self, client: &str, words: &[String]) -> Told<Answer> {
        let number = self.send(client, words)?;
        let mut answer = self.driver(client)?.wait(number, patience(), self.world)?;
        let gone = match words[0].as_str() {
            "connect" => !answer.ok,
            "close" => answer.ok,
            "contenders" | "candidates" => {
                // A star means "anything" in expectations.
                answer.values.iter_mut().for_each(|value| *value = value.replace('*', "(holds)"));
                return Ok(answer);
            }
            _ => return Ok(answer),
        };
        if let Some(client) = self.clients.get_mut(client) {
            client.connected = !gone;
        }
        Ok(answer)
    }
}
