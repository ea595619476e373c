//! Plays one scenario: drivers on one side, a server on the other, and the observer looking on.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zkrecipes_embedded::FaultId;

use crate::driver::{Answer, Driver, Language};
use crate::observer::{self, EPHEMERAL, EPHEMERAL_SEQUENTIAL, Failure, Observer, PERSISTENT};
use crate::scenario::{Rounds, Scenario, Step};
use crate::world::{Told, World};

/// How long anything may take before it counts as never.
static PATIENCE_MS: AtomicU64 = AtomicU64::new(30_000);
/// How long a waiter is given to do what it must not do: for what does not happen there is no condition to wait for.
const HESITATION: Duration = Duration::from_millis(150);
const PAUSE: Duration = Duration::from_millis(15);

pub fn set_patience(patience: Duration) {
    PATIENCE_MS.store(patience.as_millis() as u64, Ordering::Relaxed);
}

fn patience() -> Duration {
    Duration::from_millis(PATIENCE_MS.load(Ordering::Relaxed))
}

struct Client {
    driver: usize,
    connected: bool,
}

/// A client in a race: its rounds as fast as they are answered.
struct Runner {
    rounds: Rounds,
    at: usize,
    /// The command that is under way.
    running: Option<u64>,
}

struct Play<'a> {
    scenario: &'a Scenario,
    world: &'a World,
    observer: Observer,
    root: &'a Path,
    diaries: &'a Path,
    languages: Vec<Language>,
    drivers: Vec<Driver>,
    clients: HashMap<String, Client>,
    labels: HashMap<String, (String, u64)>,
    faults: HashMap<String, Vec<FaultId>>,
    variables: HashMap<String, String>,
    runners: Vec<Runner>,
    /// Nodes that may be left at the end: what the scenario itself made, and the locks' parents.
    known: BTreeSet<String>,
    transcript: Vec<String>,
    started: Instant,
}

/// Plays it once; on failure the error is the whole story.
pub fn play(
    scenario: &Scenario,
    languages: &[Language],
    world: &World,
    root: &Path,
    diaries: &Path,
) -> Result<(), String> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let short = scenario.name.rsplit('/').next().unwrap_or_default();
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let path = format!("/scenarios/{short}-{}-{run}", std::process::id());
    let mut play = Play {
        scenario,
        world,
        observer: Observer::new(&world.plain_hosts()),
        root,
        diaries,
        languages: languages.to_vec(),
        drivers: Vec::new(),
        clients: HashMap::new(),
        labels: HashMap::new(),
        faults: HashMap::new(),
        variables: HashMap::from([("P".to_owned(), path.clone())]),
        runners: Vec::new(),
        known: BTreeSet::new(),
        transcript: Vec::new(),
        started: Instant::now(),
    };
    play.prepare(&path)?;
    let outcome = play.run();
    let outcome = outcome.and_then(|()| play.clean_ending(&path));
    world.clear_faults();
    let story = outcome.map_err(|problem| play.story(&problem));
    for driver in &mut play.drivers {
        driver.kill();
    }
    let _ = play.observer.delete_all(&path);
    story
}

impl Play<'_> {
    fn prepare(&mut self, path: &str) -> Told<()> {
        self.observer.ensure(path).map_err(|error| format!("the observer cannot create {path}: {error}"))?;
        let mut names: Vec<String> = Vec::new();
        for step in &self.scenario.steps {
            let word = if step.words[0] == "rounds" { step.words.get(2) } else { step.words.first() };
            for name in word.and_then(|word| clients_of(word)).unwrap_or_default() {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let groups = self.scenario.together.clone();
        let alone = names.iter().filter(|name| !groups.iter().flatten().any(|other| other == *name));
        let processes: Vec<Vec<String>> =
            alone.map(|name| vec![name.clone()]).chain(groups.iter().cloned()).collect();
        for (index, names) in processes.into_iter().enumerate() {
            let language = self.languages[index % self.languages.len()];
            let diary = self.diaries.join(format!("{}.log", names.join("-")));
            self.drivers.push(Driver::start(language, self.root, diary)?);
            for name in names {
                self.clients.insert(name, Client { driver: index, connected: false });
            }
        }
        Ok(())
    }

    fn run(&mut self) -> Told<()> {
        for step in &self.scenario.steps {
            self.step(step).map_err(|problem| format!("{}:{}: {problem}", self.scenario.file, step.line))?;
        }
        if !self.runners.is_empty() {
            return Err("the scenario has rounds and no race".into());
        }
        match self.labels.keys().next() {
            Some(label) => Err(format!("the scenario never awaits {label:?}")),
            None => Ok(()),
        }
    }

    fn step(&mut self, step: &Step) -> Told<()> {
        if step.words[0] == "rounds" {
            self.note(&step.text);
            let rounds = step.rounds().ok_or("rounds takes a number, clients and steps")?;
            self.runners.extend(rounds.into_iter().map(|rounds| Runner { rounds, at: 0, running: None }));
            return Ok(());
        }
        let words: Vec<String> = step.words.iter().map(|word| self.fill(word)).collect::<Told<_>>()?;
        self.note(&step.text);
        if let Some(clients) = clients_of(&words[0]) {
            for client in clients {
                match &step.label {
                    Some(label) => {
                        let number = self.send(&client, &words[1..])?;
                        self.labels.insert(label.clone(), (client, number));
                    }
                    None => self.expecting(step, |play| play.ask(&client, &words[1..]))?,
                }
            }
            return Ok(());
        }
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        match arguments[..] {
            ["server", "inject", ref rule @ ..] => {
                let fault = self.world.inject(&rule.join(" "))?;
                if let Some(label) = &step.label {
                    self.faults.insert(label.clone(), fault);
                }
                Ok(())
            }
            ["await", label] => {
                let (client, number) = self.labels.remove(label).ok_or("nothing has this label")?;
                let driver = self.driver(&client)?;
                let answer = driver.wait(number, patience())?;
                self.note(&format!("  {answer}"));
                self.accept(step, &answer)
            }
            ["pending", label] => {
                let (client, number) = self.labels.get(label).ok_or("nothing has this label")?;
                match self.driver(client)?.wait(*number, HESITATION) {
                    Ok(answer) => Err(format!("should still wait, but answered: {answer}")),
                    Err(_) => Ok(()),
                }
            }
            ["withdraw", label] => {
                let (client, number) = self.labels.get(label).cloned().ok_or("nothing has this label")?;
                let answer = self.ask(&client, &["withdraw".into(), number.to_string()])?;
                self.accept(step, &answer)
            }
            ["forget", label] => self.labels.remove(label).map(drop).ok_or("nothing has this label".into()),
            ["event", client, ref event @ ..] => {
                let wanted = [&[client], event].concat();
                let fits = |seen: &str| {
                    let seen: Vec<&str> = seen.split(' ').collect();
                    seen.len() == wanted.len()
                        && wanted.iter().zip(seen).all(|(want, word)| fits_any(want, word))
                };
                self.driver(client)?.wait_event(fits, patience())
            }
            ["no-event", client, ref event @ ..] => {
                let event = format!("{client} {}", event.join(" "));
                match self.driver(client)?.events().iter().any(|seen| seen.starts_with(&event)) {
                    true => Err(format!("{event:?} was reported")),
                    false => Ok(()),
                }
            }
            ["kill", client] => {
                let index = self.clients.get(client).ok_or("no such client")?.driver;
                self.drivers[index].kill();
                self.clients.values_mut().filter(|c| c.driver == index).for_each(|c| c.connected = false);
                let clients = &self.clients;
                self.labels.retain(|_, (client, _)| clients[client].driver != index);
                Ok(())
            }
            ["freeze", client] => {
                self.driver(client)?.signal(libc::SIGSTOP);
                Ok(())
            }
            ["thaw", client] => {
                self.driver(client)?.signal(libc::SIGCONT);
                Ok(())
            }
            ["sleep", millis] => {
                let millis = millis.parse().map_err(|_| "sleep takes milliseconds")?;
                std::thread::sleep(Duration::from_millis(millis));
                Ok(())
            }
            ["check", ref comparison @ ..] => check(comparison),
            ["race"] => self.race(),
            _ => self.expecting(step, |play| play.query(&words)),
        }
    }

    /// Everybody's rounds at the same time.
    fn race(&mut self) -> Told<()> {
        let mut runners = std::mem::take(&mut self.runners);
        let mut moved_at = Instant::now();
        while !runners.is_empty() {
            let mut any = false;
            for runner in &mut runners {
                any |= self.advance(runner)?;
            }
            runners.retain(|runner| runner.rounds.laps > 0);
            if any {
                moved_at = Instant::now();
            } else if moved_at.elapsed() > patience() {
                let stuck = runners.iter().map(|runner| runner.rounds.steps[runner.at].text.clone());
                return Err(format!("the race stands still: {}", stuck.collect::<Vec<_>>().join(", ")));
            } else {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    /// Whether there was anything to do.
    fn advance(&mut self, runner: &mut Runner) -> Told<bool> {
        let Rounds { client, laps, steps } = &mut runner.rounds;
        let step = &steps[runner.at];
        if let Some(number) = runner.running {
            let Ok(answer) = self.driver(client)?.wait(number, Duration::ZERO) else { return Ok(false) };
            self.accept(step, &answer)
                .map_err(|problem| format!("{} with {laps} rounds to go: {problem}", step.text))?;
            runner.running = None;
            runner.at = (runner.at + 1) % steps.len();
            if runner.at == 0 {
                *laps -= 1;
            }
        } else {
            let words = step.words[1..].iter().map(|word| self.fill(word)).collect::<Told<Vec<_>>>()?;
            runner.running = Some(self.send(client, &words)?);
        }
        Ok(true)
    }

    /// Server and observer verbs that answer something.
    fn query(&mut self, words: &[String]) -> Told<Answer> {
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

    fn look(&mut self, verb: &str, path: &str, rest: &[&str]) -> Answer {
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

    fn count(&mut self, path: &str) -> Result<usize, Failure> {
        match self.observer.children(path) {
            Ok(children) => Ok(children.len()),
            Err(Failure::Server(crate::observer::NO_NODE)) => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn contender(&mut self, path: &str, identity: &str) -> Result<String, Failure> {
        for child in self.observer.children(path)? {
            let child = format!("{path}/{child}");
            if self.observer.node(&child).is_ok_and(|node| node.data == identity.as_bytes()) {
                return Ok(child);
            }
        }
        Err(Failure::Server(crate::observer::NO_NODE))
    }

    fn expecting(&mut self, step: &Step, mut ask: impl FnMut(&mut Self) -> Told<Answer>) -> Told<()> {
        let end = Instant::now() + patience();
        loop {
            let answer = ask(self)?;
            match self.accept(step, &answer) {
                Err(_) if step.eventually && Instant::now() < end => std::thread::sleep(PAUSE),
                outcome => {
                    self.note(&format!("  {answer}"));
                    return outcome;
                }
            }
        }
    }

    /// Compares an answer with what the step expects, and captures what it names.
    fn accept(&mut self, step: &Step, answer: &Answer) -> Told<()> {
        let expect = step.expect.clone().unwrap_or_else(|| vec!["ok".into()]);
        let mut captured = Vec::new();
        let fits = match expect[0].as_str() {
            "any" => true,
            "ok" if expect.len() == 1 => answer.ok,
            // The reason behind an error's name may be left out.
            "error" => {
                let said = answer.values.get(..expect.len() - 1).unwrap_or_default();
                !answer.ok && self.fits(&expect[1..], said, &mut captured)
            }
            "nothing" => answer.ok && answer.values.is_empty(),
            "at-most" if expect.len() == 2 => {
                answer.ok && answer.values.len() as i128 <= number(&self.fill(&expect[1])?)?
            }
            _ => answer.ok && self.fits(&expect, &answer.values, &mut captured),
        };
        if !fits {
            return Err(format!("expected `{}`, got `{answer}`", expect.join(" ")));
        }
        self.variables.extend(captured);
        Ok(())
    }

    fn fits(&self, expect: &[String], values: &[String], captured: &mut Vec<(String, String)>) -> bool {
        expect.len() == values.len()
            && expect.iter().zip(values).all(|(expect, value)| match expect.strip_prefix('$') {
                Some(name) if !self.variables.contains_key(name) && !name.contains('/') => {
                    captured.push((name.to_owned(), value.clone()));
                    true
                }
                _ => self
                    .fill(expect)
                    .is_ok_and(|expect| expect.split('|').any(|pattern| matches_pattern(pattern, value))),
            })
    }

    fn fill(&self, word: &str) -> Told<String> {
        let Some(at) = word.find('$') else { return Ok(word.to_owned()) };
        let rest = &word[at + 1..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let value =
            self.variables.get(&rest[..end]).ok_or_else(|| format!("${} has no value yet", &rest[..end]))?;
        self.fill(&format!("{}{value}{}", &word[..at], &rest[end..]))
    }

    fn send(&mut self, client: &str, words: &[String]) -> Told<u64> {
        let mut command = format!("{client} {}", words.join(" "));
        match (words[0].as_str(), words.get(1), words.get(2)) {
            ("connect", ..) => command = self.connecting(client, &words[1..]),
            (
                "lock" | "rwlock" | "counter" | "election" | "names" | "group" | "double-barrier",
                Some(_),
                Some(path),
            ) => self.known_parents(path),
            ("semaphore", Some(_), Some(path)) => {
                // Curator's layout: who waits, who is inside, and our note of how many may be.
                ["locks", "leases", "max"]
                    .iter()
                    .for_each(|part| self.known_parents(&format!("{path}/{part}")));
            }
            ("queue" | "priority-queue" | "delay-queue", Some(_), Some(path)) => {
                // What is ours stands beside the items, and goes when nothing is left in it.
                let parts =
                    ["", "/entries", "/taken", "-__queue__/claims", "-__queue__/marks", "-__queue__/puts"];
                for shard in ["", "-__dead__", "/0", "/1", "/2"] {
                    parts.iter().for_each(|part| self.known_parents(&format!("{path}{shard}{part}")));
                    self.known_parents(&format!("{path}{shard}-__queue__/waiting"));
                }
            }
            ("2pc", Some(_), Some(path)) => {
                // Where everything of it is, and the inboxes of those who may be asked.
                ["transactions", "sites", "coordinators", "inbox/a", "inbox/b", "inbox/c"]
                    .iter()
                    .for_each(|part| self.known_parents(&format!("{path}/{part}")));
            }
            ("create", Some(path), _) | ("guarded-create" | "ack-with-create", _, Some(path)) => {
                self.known.insert(path.clone());
            }
            _ => {}
        }
        let index = self.clients.get(client).ok_or_else(|| format!("no client {client}"))?.driver;
        self.drivers[index].send(&command)
    }

    fn connecting(&mut self, client: &str, options: &[String]) -> String {
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
        format!("{client} connect {hosts} {}", given.join(" "))
    }

    fn known_parents(&mut self, path: &str) {
        for (end, _) in path.match_indices('/').skip(1).chain([(path.len(), "")]) {
            self.known.insert(path[..end].to_owned());
        }
    }

    fn ask(&mut self, client: &str, words: &[String]) -> Told<Answer> {
        let number = self.send(client, words)?;
        let mut answer = self.driver(client)?.wait(number, patience())?;
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

    /// The session of a client, or a captured one.
    fn session(&mut self, client: &str) -> Told<u64> {
        if let Ok(session) = client.parse() {
            return Ok(session);
        }
        let answer = self.ask(client, &["session".into()])?;
        answer.values.first().and_then(|id| id.parse().ok()).ok_or_else(|| format!("no session id: {answer}"))
    }

    fn driver(&self, client: &str) -> Told<&Driver> {
        let client = self.clients.get(client).ok_or_else(|| format!("no client {client}"))?;
        Ok(&self.drivers[client.driver])
    }

    fn inside(&self) -> Told<&zkrecipes_embedded::Server> {
        self.world.inside().ok_or_else(|| "only the embedded server can do this".into())
    }

    /// Nothing may be left: no node while the clients are still there, no watch, and no session after them.
    fn clean_ending(&mut self, path: &str) -> Told<()> {
        self.note("(nothing is left behind)");
        self.observer.end_session();
        self.until("nodes are left", |play| {
            let found = play.observer.walk(path).map_err(|error| error.to_string())?;
            let known = &play.known;
            let left = found.into_iter().filter(|(path, owner)| *owner != 0 || !known.contains(path));
            Ok(left.map(|(path, _)| path).collect())
        })?;
        if let Some(server) = self.world.inside() {
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
        let dead: Vec<bool> = (0..self.drivers.len()).map(|i| self.drivers[i].is_dead()).collect();
        for (driver, dead) in self.drivers.iter_mut().zip(dead) {
            let noise = driver.noise();
            if !noise.is_empty() {
                return Err(format!(
                    "the {} driver wrote what is no answer: {noise:?}",
                    driver.language.name()
                ));
            }
            if !dead {
                driver.quit(patience())?;
            }
        }
        Ok(())
    }

    fn until(&mut self, what: &str, mut left: impl FnMut(&mut Self) -> Told<Vec<String>>) -> Told<()> {
        let end = Instant::now() + patience();
        loop {
            let left = left(self)?;
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("{what}: {}", left.join(" ")));
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn note(&mut self, line: &str) {
        self.transcript.push(format!("{:8.3}  {line}", self.started.elapsed().as_secs_f64()));
    }

    fn story(&self, problem: &str) -> String {
        let mut story = vec![problem.to_owned(), format!("promise: {}", self.scenario.promise)];
        story.extend(self.transcript.iter().cloned());
        let mut clients: Vec<_> = self.clients.iter().collect();
        clients.sort_by_key(|(name, _)| name.as_str());
        for (name, client) in clients {
            let driver = &self.drivers[client.driver];
            story.push(format!("-- {name} ({}), events {:?}", driver.language.name(), driver.events()));
            let diary = driver.diary();
            if !diary.is_empty() {
                story.push(diary);
            }
        }
        story.join("\n")
    }
}

/// `A` or `A,B,C`: clients begin with a capital, everything else does not.
fn clients_of(word: &str) -> Option<Vec<String>> {
    word.starts_with(|c: char| c.is_ascii_uppercase()).then(|| word.split(',').map(str::to_owned).collect())
}

fn check(words: &[&str]) -> Told<()> {
    for part in words.windows(3).step_by(2) {
        let (left, right) = (number(part[0])?, number(part[2])?);
        let holds = match part[1] {
            "<" => left < right,
            "<=" => left <= right,
            "==" => left == right,
            "!=" => left != right,
            other => return Err(format!("{other} compares nothing")),
        };
        if !holds {
            return Err(format!("{left} {} {right} does not hold", part[1]));
        }
    }
    Ok(())
}

fn number(text: &str) -> Told<i128> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

/// `a|b`: one of these.
fn fits_any(patterns: &str, text: &str) -> bool {
    patterns.split('|').any(|pattern| matches_pattern(pattern, text))
}

/// `*` stands for anything, `?` for one character.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut rest = text.chars();
    match pattern.chars().next() {
        None => text.is_empty(),
        Some('*') => text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .any(|at| matches_pattern(&pattern[1..], &text[at..])),
        Some(first) => {
            rest.next().is_some_and(|c| first == '?' || first == c)
                && matches_pattern(&pattern[first.len_utf8()..], rest.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches_pattern("create*", "create2"));
        assert!(matches_pattern("*lock-*", "_c_1-lock-0001"));
        assert!(matches_pattern("a??", "abc"));
        assert!(!matches_pattern("a??", "ab"));
        assert!(!matches_pattern("create", "create2"));
    }

    #[test]
    fn comparisons_chain() {
        assert!(check(&["1", "<", "2", "<", "3"]).is_ok());
        assert!(check(&["1", "<", "2", "<", "2"]).is_err());
    }
}
