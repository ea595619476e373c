//! Plays one scenario: drivers on one side, a server on the other, and the observer looking on. Labels, `eventually` and the
//! harness's own words, such as `await` and `kill`, are done here.

mod client_commands;
mod ending;
mod matching;
mod server_verbs;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zkrecipes_embedded::FaultId;

use matching::{check, fits_any};

use crate::driver::{Answer, Driver, Language};
use crate::observer::Observer;
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
    /// The counters of clients: who has a handle keeps its mark for a while.
    counters: Vec<(String, String)>,
    /// Nodes that may be left at the end: what the scenario itself made, and the locks' parents.
    known: BTreeSet<String>,
    /// Whether transactions may have left how they ended.
    leaves_outcomes: bool,
    /// The same of the keys of puts.
    leaves_keys: bool,
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
        variables: HashMap::from([
            ("P".to_owned(), path.clone()),
            ("HOSTS".to_owned(), world.hosts()),
            ("NAMED".to_owned(), world.hosts().replace("127.0.0.1", "localhost")),
        ]),
        runners: Vec::new(),
        counters: Vec::new(),
        known: BTreeSet::new(),
        leaves_outcomes: false,
        leaves_keys: false,
        transcript: Vec::new(),
        started: Instant::now(),
    };
    let outcome = play.prepare(&path).and_then(|()| play.run());
    let outcome = outcome.and_then(|()| play.clean_ending(&path));
    world.clear_faults();
    // A server that has ended explains everything else.
    let ended = outcome.is_err().then(|| world.look_for_the_end().err()).flatten();
    let outcome = outcome.map_err(|problem| match &ended {
        Some(ended) => format!("{ended}\n{problem}"),
        None => problem,
    });
    let story = outcome.map_err(|problem| play.story(&problem));
    // Nobody meets one again that was in a scenario that failed.
    for driver in &mut play.drivers {
        driver.kill();
    }
    if ended.is_none() {
        let _ = play.observer.delete_all(&path);
    }
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
            self.drivers.push(Driver::find(language, self.root, diary)?);
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
                if let [_, verb, name, ..] = &words[..]
                    && ["counter", "latch"].contains(&verb.as_str())
                {
                    self.counters.push((client.clone(), name.clone()));
                }
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
                let answer = driver.wait(number, patience(), self.world)?;
                self.note(&format!("  {answer}"));
                self.accept(step, &answer)
            }
            ["pending", label] => {
                let (client, number) = self.labels.get(label).ok_or("nothing has this label")?;
                match self.driver(client)?.wait(*number, HESITATION, self.world) {
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
                self.driver(client)?.wait_event(fits, patience(), self.world)
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
                self.world.check()?;
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
            let answer = self.driver(client)?.wait(number, Duration::ZERO, self.world);
            let Ok(answer) = answer else { return Ok(false) };
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

    fn expecting(&mut self, step: &Step, mut ask: impl FnMut(&mut Self) -> Told<Answer>) -> Told<()> {
        let end = Instant::now() + patience();
        loop {
            let answer = ask(self)?;
            match self.accept(step, &answer) {
                Err(_) if step.eventually && Instant::now() < end => {
                    self.world.check()?;
                    std::thread::sleep(PAUSE);
                }
                outcome => {
                    self.note(&format!("  {answer}"));
                    return outcome;
                }
            }
        }
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

    fn note(&mut self, line: &str) {
        self.transcript.push(format!("{:8.3}  {line}", self.started.elapsed().as_secs_f64()));
    }

    fn story(&self, problem: &str) -> String {
        let mut story = vec![problem.to_owned(), format!("promise: {}", self.scenario.promise)];
        story.extend(self.transcript.iter().cloned());
        let mut clients: Vec<_> = self.clients.iter().collect();
        clients.sort_by_key(|(name, _)| name.as_str());
        for (name, client) in clients {
            // None are left if one did not end well.
            let Some(driver) = self.drivers.get(client.driver) else { continue };
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
