//! The scenario driver in Rust: commands by line on stdin, answers and events by line on stdout.
//! tests/drivers/README.md is the protocol.

mod commits;
mod elections;
mod following;
mod generated;
mod partitions;
mod queues;
mod reading;
mod services;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use reading::{Answer, Said, millis};
use tokio::task::AbortHandle;
use zkrecipes::{
    Client, ClientOptions, CreateMode, Election, Error, ErrorKind, Handle, Held, Lock, MultiLock, Semaphore,
    Transaction, drive,
};

/// A handle by client and name, and what was acquired through it, innermost last.
type Handles = HashMap<(String, String), (Made, Vec<Held>)>;

/// A handle, and what it is of where that matters.
#[derive(Clone)]
enum Made {
    Lock(Lock),
    Multi(MultiLock),
    Semaphore(Semaphore),
    Election(Election),
}

impl Deref for Made {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        match self {
            Made::Lock(lock) => lock,
            Made::Multi(multi) => multi,
            Made::Semaphore(semaphore) => semaphore,
            Made::Election(election) => election,
        }
    }
}

impl Made {
    async fn try_acquire(&self, n: usize) -> Result<Option<Held>, Error> {
        match self {
            Made::Semaphore(semaphore) => semaphore.try_acquire(n).await,
            other => Handle::try_acquire(other).await,
        }
    }

    fn lock(self) -> Result<Lock, Error> {
        match self {
            Made::Lock(lock) => Ok(lock),
            _ => Err(Error::invalid("lock", "is no lock")),
        }
    }

    fn semaphore(self) -> Result<Semaphore, Error> {
        match self {
            Made::Semaphore(semaphore) => Ok(semaphore),
            _ => Err(Error::invalid("semaphore", "is no semaphore")),
        }
    }

    fn election(self) -> Result<Election, Error> {
        match self {
            Made::Election(election) => Ok(election),
            _ => Err(Error::invalid("election", "is no election")),
        }
    }
}

#[derive(Default)]
struct Stage {
    clients: Mutex<HashMap<String, Client>>,
    handles: Mutex<Handles>,
    running: Mutex<HashMap<u64, AbortHandle>>,
    recipes: generated::Recipes,
    won: partitions::Won,
    following: following::Following,
    commits: commits::Commits,
    terms: elections::Terms,
    queues: queues::Queues,
    services: services::Services,
}

#[tokio::main(flavor = "current_thread")]
pub async fn main() {
    let stage = Arc::new(Stage::default());
    let (lines, mut commands) = tokio::sync::mpsc::unbounded_channel();
    // Plain stdin on a plain thread: the runtime's own would keep the process from ending.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    while let Some(line) = commands.recv().await {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        if words[0] == "quit" {
            break;
        }
        let number: u64 = words[0].parse().expect("a command begins with its number");
        if words.get(2).is_some_and(|verb| verb == "withdraw") {
            withdraw(&stage, &words);
            continue;
        }
        let running = stage.clone();
        let task = tokio::spawn(async move {
            let answer = perform(&running, &words[1..]).await;
            running.running.lock().unwrap().remove(&number);
            say(number, &answer);
        });
        stage.running.lock().unwrap().insert(number, task.abort_handle());
        // Started in the order read: the new task runs before the next line is looked at.
        tokio::task::yield_now().await;
        tokio::spawn(async move {
            if task.await.is_err_and(|error| error.is_cancelled()) {
                say(number, &Err(Error::new(ErrorKind::Cancelled, "the future was dropped")));
            }
        });
    }
    std::process::exit(0);
}

fn withdraw(stage: &Stage, words: &[String]) {
    let victim: u64 = words[3].parse().expect("withdraw takes a number");
    if let Some(task) = stage.running.lock().unwrap().remove(&victim) {
        task.abort();
    }
    say(words[0].parse().expect("a number"), &Ok(vec![]));
}

fn say(number: u64, answer: &Answer) {
    let line = match answer {
        Ok(values) if values.is_empty() => format!("{number} ok"),
        Ok(values) => format!("{number} ok {}", values.join(" ")),
        Err(error) => {
            let reason = error.reason().map(|reason| format!(" {}", reason.name())).unwrap_or_default();
            format!("{number} error {}{reason}", error.kind().name())
        }
    };
    print(&line);
    if let Err(error) = answer {
        eprintln!("{line}: {error}");
    }
}

fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

async fn perform(stage: &Stage, words: &[String]) -> Answer {
    let name = &words[0];
    let arguments: Vec<&str> = words[2..].iter().map(String::as_str).collect();
    if words[1] == "connect" {
        let client = connect(&arguments).await?;
        stage.clients.lock().unwrap().insert(name.clone(), client);
        return Ok(vec![]);
    }
    let client = stage.clients.lock().unwrap().get(name).cloned();
    let client = client.ok_or_else(|| Error::invalid("client", "has not connected"))?;
    if let Some(answer) = stage.recipes.perform(&client, words).await {
        return answer;
    }
    if let Some(answer) = stage.won.perform(&stage.recipes, words).await {
        return answer;
    }
    if let Some(answer) = stage.queues.perform(&client, words).await {
        return answer;
    }
    if let Some(answer) = stage.following.perform(&client, &stage.recipes, words) {
        return answer;
    }
    if let Some(answer) = stage.services.perform(&stage.recipes, &stage.following, words).await {
        return answer;
    }
    if let Some(answer) = stage.commits.perform(&client, words).await {
        return answer;
    }
    let key = (name.clone(), arguments.first().copied().unwrap_or_default().to_owned());
    let handle_of = |named: &str| -> Result<Made, Error> {
        let handles = stage.handles.lock().unwrap();
        let found = handles.get(&(name.clone(), named.to_owned())).map(|(handle, _)| handle.clone());
        found.ok_or_else(|| Error::invalid("lock", "has not been made"))
    };
    let handle = || handle_of(&key.1);
    let make = |named: &str, handle: Made| {
        stage.handles.lock().unwrap().insert((name.clone(), named.to_owned()), (handle, vec![]));
    };
    let current = || stage.handles.lock().unwrap().get(&key).and_then(|(_, held)| held.last().cloned());
    let keep = |held: Held| {
        let token = held.fencing_token();
        if let Some((_, kept)) = stage.handles.lock().unwrap().get_mut(&key) {
            kept.push(held);
        }
        one(token)
    };
    match (words[1].as_str(), &arguments[..]) {
        ("close", rest) => client.close(millis(rest.first())).await.map(|()| vec![]),
        ("update-hosts", [hosts]) => client.update_hosts(hosts).map(|()| vec![]),
        ("state", _) => one(client.state().name()),
        ("session", _) => one(client.session_id()),
        ("lease", _) => one(client.lease_remaining().as_millis()),
        ("waiting", _) => one(client.metrics().waiting),
        ("skipped", _) => Ok(client.skipped().said()),
        ("watch-state", _) => {
            let name = name.clone();
            let _ = client.on_state(move |state| print(&format!("event {name} state {}", state.name())));
            Ok(vec![])
        }
        ("lock", [_, path, rest @ ..]) => {
            let lock = client.lock(path, generated::lock_options(rest)?)?;
            make(&key.1, Made::Lock(lock));
            Ok(vec![])
        }
        ("rwlock", [named, path]) => {
            let both = client.read_write_lock(path)?;
            make(&format!("{named}.read"), Made::Lock(both.read().clone()));
            make(&format!("{named}.write"), Made::Lock(both.write().clone()));
            Ok(vec![])
        }
        ("multilock", [named, locks @ ..]) => {
            let locks: Vec<Lock> =
                locks.iter().map(|lock| handle_of(lock)?.lock()).collect::<Result<_, Error>>()?;
            make(named, Made::Multi(client.multi_lock(&locks)?));
            Ok(vec![])
        }
        ("semaphore", [named, path, permits]) => {
            let permits = permits.parse().map_err(|_| Error::invalid("permits", "is no number"))?;
            make(named, Made::Semaphore(client.semaphore(path, permits)?));
            Ok(vec![])
        }
        ("election", [named, path, rest @ ..]) => {
            let election = elections::make(&client, path, rest)?;
            stage.following.elections.make(key.clone(), election.clone());
            make(named, Made::Election(election));
            Ok(vec![])
        }
        ("campaign", [_, rest @ ..]) => {
            let election = handle()?.election()?;
            let leadership = match millis(rest.first()) {
                Some(limit) => election.campaign_timeout(limit).await?,
                None => election.campaign().await?,
            };
            keep((*leadership).clone())
        }
        ("acknowledge", [_, data]) => {
            let held = current().ok_or_else(|| Error::new(ErrorKind::NotHeld, "nothing was acquired"))?;
            drive::leadership(held).acknowledge(data.as_bytes()).await.map(|()| vec![])
        }
        ("leads", _) => one(handle()?.election()?.is_leader()),
        ("leader", _) => Ok(handle()?.election()?.leader().await?.said()),
        ("run", _) => stage.terms.run(handle()?.election()?, &key).await,
        ("set-healthy", [_, healthy]) => stage.terms.set_healthy(&key, *healthy == "yes"),
        ("transfer", [_, to]) => one(handle()?.election()?.transfer(to).await?),
        ("end-term", [_, rest @ ..]) => stage.terms.end(&key, rest.contains(&"fail")),
        ("acquire", [_, rest @ ..]) => {
            let (limit, n) = (millis(rest.first()), permits_of(rest.get(1))?);
            keep(drive::acquire(&*handle()?, n, limit).await?.hand_over())
        }
        ("try", [_, rest @ ..]) => match handle()?.try_acquire(permits_of(rest.first())?).await? {
            Some(held) => keep(held),
            None => one("none"),
        },
        ("downgrade", [named]) => {
            let reading = match current() {
                Some(writing) => writing.downgrade().await?,
                None => drive::downgrade_current(&*handle()?).await?.hand_over(),
            };
            let token = reading.fencing_token();
            let readers = (key.0.clone(), named.replace(".write", ".read"));
            let mut handles = stage.handles.lock().unwrap();
            handles.get_mut(&key).and_then(|(_, kept)| kept.pop());
            if let Some((_, kept)) = handles.get_mut(&readers) {
                kept.push(reading);
            }
            one(token)
        }
        ("release" | "resign", [_, rest @ ..]) => {
            let held = stage.handles.lock().unwrap().get_mut(&key).and_then(|(_, held)| held.pop());
            let released = match (held, rest.first()) {
                (Some(held), None) => held.release().await,
                (Some(held), Some(&"nowait")) => held.release_in_background(),
                (None, None) => handle()?.release().await,
                (None, Some(&"nowait")) => handle()?.release_in_background(),
                (_, Some(other)) => Err(Error::invalid("release", format!("{other} is not understood"))),
            };
            released.map(|()| vec![])
        }
        ("verify", _) => match current() {
            Some(held) => held.verify().await.map(|()| vec![]),
            None => handle()?.verify().await.map(|()| vec![]),
        },
        ("cancel", _) => {
            match handle()? {
                Made::Election(election) => election.cancel(),
                other => other.cancel(),
            }
            Ok(vec![])
        }
        ("held", _) => one(current().map_or(handle()?.is_held(), |held| held.is_held())),
        ("token", _) => match current() {
            Some(held) => one(held.fencing_token()),
            None => one(handle()?.fencing_token()?),
        },
        ("passes", _) => match current() {
            Some(held) => one(held.passes()),
            None => Err(Error::new(ErrorKind::NotHeld, "nothing was acquired")),
        },
        ("watch-lost", [handle, ..]) => {
            let line = format!("event {name} lost {handle}");
            let tell = move |error: Error| {
                print(&format!("{line} {}", error.reason().map_or("none", |reason| reason.name())));
            };
            let _ = match current() {
                Some(held) => held.on_lost(tell),
                None => handle_of(&key.1)?.on_lost(tell)?,
            };
            Ok(vec![])
        }
        ("tokens", _) => match current() {
            Some(held) => Ok(held.fencing_tokens().iter().map(u64::to_string).collect()),
            None => Err(Error::new(ErrorKind::NotHeld, "nothing was acquired")),
        },
        ("holders", _) => {
            let holders = handle()?.semaphore()?.holders().await?;
            Ok(holders.into_iter().map(|holder| holder.identity).collect())
        }
        ("resize", [_, permits]) => {
            let permits = permits.parse().map_err(|_| Error::invalid("permits", "is no number"))?;
            handle()?.semaphore()?.resize(permits).await.map(|()| vec![])
        }
        ("revoke", [_, rest @ ..]) => {
            let contender = rest.first().filter(|node| **node != "-");
            one(handle()?.revoke(contender.copied(), millis(rest.get(1))).await?)
        }
        ("watch-revoke", [named, ..]) => {
            let line = format!("event {name} revoked {named}");
            let held = current().ok_or_else(|| Error::new(ErrorKind::NotHeld, "nothing was acquired"))?;
            let _ = held.on_revoke(move || print(&line));
            Ok(vec![])
        }
        ("sequencer", _) => match current() {
            Some(held) => one(held.sequencer()),
            None => Err(Error::new(ErrorKind::NotHeld, "nothing was acquired")),
        },
        ("config-update", [_, suffix]) => {
            let config = stage.recipes.config.of(&key)?;
            let now = config.update(|value| [value.unwrap_or_default(), suffix.as_bytes()].concat()).await?;
            Ok(vec![now.version.to_string(), String::from_utf8_lossy(&now.value).into_owned()])
        }
        ("bind-ttl", [_, of, data, ttl]) => {
            let ttl = millis(Some(ttl)).expect("it is given");
            stage.recipes.names.of(&key)?.bind_ttl(of, data.as_bytes(), ttl).await.map(|()| vec![])
        }
        ("check-sequencer", [sequencer]) => one(client.check_sequencer(sequencer).await?),
        ("watch-sequencer", [sequencer]) => client.watch_sequencer(sequencer).await.map(|()| vec![]),
        ("contenders" | "candidates", _) => {
            let contenders = handle()?.contenders().await?;
            let star = |holds| if holds { "*" } else { "" };
            Ok(contenders.into_iter().map(|c| format!("{}{}", c.identity, star(c.holds))).collect())
        }
        ("free", _) => {
            stage.handles.lock().unwrap().remove(&key);
            stage.recipes.forget(&key);
            stage.won.forget(&key.0, &key.1);
            Ok(vec![])
        }
        ("guarded-set", [_, path, data]) => {
            let writes = guarded(current(), handle()?)?;
            writes.set(path, data.as_bytes(), None)?;
            writes.commit().await.map(|_| vec![])
        }
        ("guarded-create", [_, path, data]) => {
            let writes = guarded(current(), handle()?)?;
            writes.create(path, data.as_bytes(), CreateMode::Persistent)?;
            writes.commit().await.map(|_| vec![])
        }
        ("create", [path, data]) => {
            client.nodes().create(path, data.as_bytes(), CreateMode::Persistent).await.map(|_| vec![])
        }
        ("set", [path, data]) => client.nodes().set(path, data.as_bytes(), None).await.map(|_| vec![]),
        ("delete", [path]) => client.nodes().delete(path, None).await.map(|()| vec![]),
        ("get", [path]) => {
            let (data, _) = client.nodes().get(path).await?;
            one(String::from_utf8_lossy(&data))
        }
        ("exists", [path]) => one(client.nodes().exists(path).await?.is_some()),
        ("children", [path]) => client.nodes().children(path).await,
        ("ephemerals", [path]) => client.nodes().ephemerals(path).await,
        (verb, _) => Err(Error::invalid("verb", format!("{verb} is not one"))),
    }
}

/// How many permits: one, unless it says otherwise.
fn permits_of(word: Option<&&str>) -> Result<usize, Error> {
    word.map_or(Ok(1), |n| n.parse().map_err(|_| Error::invalid("n", "is no number")))
}

fn guarded(held: Option<Held>, handle: Made) -> Result<Transaction, Error> {
    held.map_or_else(|| handle.guarded(), |held| Ok(held.guarded()))
}

async fn connect(arguments: &[&str]) -> Result<Client, Error> {
    open(arguments[0], generated::client_options(&arguments[1..])?).await
}

#[cfg(not(feature = "guest"))]
async fn open(hosts: &str, options: ClientOptions) -> Result<Client, Error> {
    Client::connect(hosts, options).await
}

/// As an application does that has a session of its own.
#[cfg(feature = "guest")]
async fn open(hosts: &str, options: ClientOptions) -> Result<Client, Error> {
    let connector = zookeeper_client::Client::connector().with_session_timeout(options.session_timeout);
    let connecting = tokio::time::timeout(options.connect_timeout, connector.connect(hosts)).await;
    match connecting {
        Ok(Ok(session)) => Client::over(session, options).await,
        Ok(Err(error)) => Err(Error::invalid("hosts", error.to_string())),
        Err(_) => Err(Error::new(zkrecipes::ErrorKind::ConnectionLost, "no session")),
    }
}

fn one(value: impl ToString) -> Answer {
    Ok(vec![value.to_string()])
}
