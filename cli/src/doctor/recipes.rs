//! What recipes need: sessions and leases, a lock at each server, containers, rights, and room for data.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use zkrecipes::drive::{self, Tick};
use zkrecipes::{
    AclChoice, Client, ClientOptions, CreateMode, Error, ErrorKind, LeaseMode, LockOptions, Result,
};

use super::millis;
use super::report::{Level, Report};
use super::server::{self, Conf};
use crate::outcome::{self, Outcome};
use crate::system;

/// What ZooKeeper counts time in unless it is told otherwise.
const USUAL_TICK: Duration = Duration::from_secs(2);
/// A node of this size fits if the servers have the usual limit, and what goes around it with it.
const LARGE: usize = 1_000_000;

/// The ticks of the servers, as far as they tell.
struct Ticks {
    told: Vec<Option<Duration>>,
    /// All that may lead have told.
    is_of_all: bool,
}

/// How long a lock, and all else that is tried, may take once there is a session.
const LIMIT: Duration = Duration::from_secs(5);
/// How long tidying up may take.
const TIDYING: Duration = Duration::from_secs(2);

/// A server at which all of this can be tried.
#[derive(Clone)]
struct Fit {
    client: Client,
    server: String,
    /// Below this node everybody's own are made: the place that was asked for, or the nearest that is there.
    base: String,
    /// Our own.
    path: String,
}

/// Tries all of this, and leaves nothing: a lock at all servers at the same time, each in a node of its own, which begins
/// with `own` and is made below `place`; the rest at the first server where that went well.
pub(super) fn check(
    servers: &[String],
    place: &str,
    own: &str,
    options: &ClientOptions,
    report: &mut Report,
) -> Outcome<()> {
    let began = (Instant::now(), system::clock::now());
    let confs = conf_of(servers, options);
    let until = Instant::now() + options.connect_timeout + LIMIT;
    let trying = at_the_same_time(servers, |at, server| {
        let (place, own, options) = (place.to_owned(), format!("{own}-{at}"), options.clone());
        move || within(until, attempt(server, place, own, options))
    });
    let mut fit = Vec::new();
    for (tried, server) in trying.into_iter().zip(servers) {
        let Ok(tried) = tried.join() else { continue };
        match tried {
            Ok((found, well)) => {
                report.append(found);
                fit.extend(well);
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => {
                let sentence = format!("no lock within {:?}", options.connect_timeout + LIMIT);
                report.add(Level::Failure, "lock", sentence).of(server);
            }
            // What is wrong with what was typed is no finding.
            Err(error) => return Err(error.into()),
        }
    }
    let ticks = Ticks::of(servers, confs, options);
    if let Some(first) = fit.first() {
        let until = Instant::now() + options.connect_timeout + LIMIT;
        match within(until, rest(first.clone(), place.to_owned(), options.clone(), ticks)) {
            Ok(found) => report.append(found),
            Err(error) => {
                _ = report.add(Level::Failure, "lock", outcome::sentence_of(&error)).of(&first.server)
            }
        }
    }
    let tidying = fit.into_iter().map(|fit| async move {
        let _ = fit.client.nodes().delete_all(&fit.path).await;
        let _ = fit.client.close(Some(TIDYING)).await;
    });
    let tidying = futures_util::future::join_all(tidying);
    // What is not confirmed goes with the session.
    let tidied = async {
        tidying.await;
        Ok(())
    };
    let _ = within(Instant::now() + 2 * TIDYING, tidied);
    clock(began, report);
    Ok(())
}

/// Starts something for each server, on a thread of its own.
fn at_the_same_time<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
    servers: &[String],
    what: impl Fn(usize, String) -> F,
) -> Vec<JoinHandle<T>> {
    servers.iter().cloned().enumerate().map(|(at, server)| thread::spawn(what(at, server))).collect()
}

/// What each is configured as, as soon as it says so.
fn conf_of(servers: &[String], options: &ClientOptions) -> Vec<JoinHandle<Option<Conf>>> {
    at_the_same_time(servers, |_, server| {
        let options = options.clone();
        move || server::conf(&server, &options)
    })
}

/// What `future` answers until then; else Cancelled.
fn within<T: Send + 'static>(
    until: Instant,
    future: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let mut goes_on = || Instant::now() < until;
    drive::wait(future, None, Some(Tick { every: Duration::from_millis(50), hook: &mut goes_on }))
}

/// One server: a session and a lock.
async fn attempt(
    server: String,
    place: String,
    own: String,
    options: ClientOptions,
) -> Result<(Report, Option<Fit>)> {
    let mut found = Report::default();
    let client = match Client::connect(&server, options).await {
        Ok(client) => client,
        Err(error) if error.kind() == ErrorKind::Invalid => return Err(error),
        Err(error) => {
            found.add(Level::Failure, "lock", outcome::sentence_of(&error)).of(&server);
            return Ok((found, None));
        }
    };
    let looked = async {
        let base = nearest(&client, &place).await?;
        let path = format!("{base}/{own}");
        lock(&client, &server, &path, &mut found).await?;
        Ok::<_, Error>((base, path))
    };
    match looked.await {
        Ok((base, path)) => Ok((found, Some(Fit { client, server, base, path }))),
        Err(error) => {
            // It may be a path that cannot be.
            let is_typed = error.kind() == ErrorKind::Invalid;
            let _ = client.close(Some(TIDYING)).await;
            found.add(Level::Failure, "lock", outcome::sentence_of(&error)).of(&server);
            if is_typed { Err(error) } else { Ok((found, None)) }
        }
    }
}

/// The place itself if it is there, else the nearest above it: whoever mistypes a chroot is told, and it is not made. The root
/// is "".
async fn nearest(client: &Client, place: &str) -> Result<String> {
    let mut base = place;
    while !base.is_empty() && client.nodes().exists(base).await?.is_none() {
        base = &base[..base.rfind('/').unwrap_or(0)];
    }
    Ok(base.to_owned())
}

async fn lock(client: &Client, server: &str, path: &str, report: &mut Report) -> Result<()> {
    let began = Instant::now();
    let held = client.lock(&format!("{path}/lock"), LockOptions::default())?.acquire().await?;
    held.release().await?;
    let took = millis(began.elapsed());
    report
        .add(Level::Fine, "lock", format!("taken and released in {took} ms"))
        .of(server)
        .with("took_ms", took);
    Ok(())
}

/// What is the same at all servers.
async fn rest(fit: Fit, place: String, options: ClientOptions, ticks: Ticks) -> Result<Report> {
    let mut report = Report::default();
    let (client, report_to) = (&fit.client, &mut report);
    if fit.base != place {
        let sentence = format!(
            "{place} is not there, and was not made: the first who takes something below it makes it; if nobody should, it is \
             mistyped in the connect string or in --below"
        );
        report_to.add(Level::Warning, "place", sentence).with("missing", place);
    }
    session(client, &options, &ticks, report_to);
    ticks.judge(client.session_timeout(), &options, report_to);
    containers(client, &fit.path, report_to).await?;
    rights(&fit, &options, report_to).await?;
    room(client, &fit.path, report_to).await;
    Ok(report)
}

fn session(client: &Client, options: &ClientOptions, ticks: &Ticks, report: &mut Report) {
    let (asked, granted) = (options.session_timeout, client.session_timeout());
    let assumed = if ticks.largest().is_some() { "" } else { ", as is usual" };
    let tick = ticks.largest().unwrap_or(USUAL_TICK);
    let bears = drive::bears(granted, options.lease, options.server_tick);
    let known = format!(
        "a session lasts {granted:?} without a word from its client; a pause of less than {bears:?} never costs a lock, if the \
         servers answer within {:?}; with the option lease=relaxed that would be {:?}",
        granted / if bears > granted * 2 / 5 { 50 } else { 25 },
        drive::bears(granted, LeaseMode::Relaxed, options.server_tick)
    );
    let (level, sentence) = match options.server_tick {
        Some(given) if given > tick && granted < 2 * given => (
            Level::Warning,
            format!(
                "{known}; that is less than two of the server_tick that was given ({given:?}), for which less is borne: ask for \
                 {:?} or more, and have the servers' maxSessionTimeout raised if they grant less",
                2 * given
            ),
        ),
        _ if granted < 2 * tick => (
            Level::Warning,
            format!(
                "{known}; that is less than two ticks of the server ({tick:?} each{assumed}), too little to tell a slow \
                 server from a dead one: ask for {:?} or more",
                2 * tick
            ),
        ),
        _ if granted != asked => (
            Level::Warning,
            format!(
                "{known}; {asked:?} was asked for, but the servers' {} is {granted:?}",
                if granted < asked { "maxSessionTimeout" } else { "minSessionTimeout" }
            ),
        ),
        _ => (Level::Fine, known),
    };
    report
        .add(level, "session", sentence)
        .with("asked_ms", millis(asked))
        .with("granted_ms", millis(granted))
        .with("pause_ms", millis(bears))
        .with("tick_ms", millis(tick));
}

impl Ticks {
    /// Those of the servers that were named, and of all others that may lead, of which those know.
    fn of(servers: &[String], confs: Vec<JoinHandle<Option<Conf>>>, options: &ClientOptions) -> Ticks {
        let told = |confs: Vec<JoinHandle<Option<Conf>>>| -> Vec<Option<Conf>> {
            confs.into_iter().map(|asked| asked.join().ok().flatten()).collect()
        };
        let mut confs = told(confs);
        let voters = confs.iter().flatten().map(|conf| &conf.voters).find(|voters| !voters.is_empty());
        let voters = voters.cloned().unwrap_or_default();
        let others: Vec<_> = voters.into_iter().filter(|voter| !servers.contains(voter)).collect();
        let others = told(conf_of(&others, options));
        let is_of_all = others.iter().all(Option::is_some);
        // Who does not answer where others know it may have been named, and asked, by another name.
        confs.extend(others.into_iter().filter(Option::is_some));
        Ticks { told: confs.into_iter().map(|conf| conf.map(|conf| conf.tick)).collect(), is_of_all }
    }

    fn largest(&self) -> Option<Duration> {
        self.told.iter().flatten().copied().max()
    }

    /// Whether `server_tick` is true, or what it should be.
    fn judge(&self, granted: Duration, options: &ClientOptions, report: &mut Report) {
        let (told, all) = (self.told.iter().flatten().count(), self.told.len());
        let none = if self.is_of_all { "no server's tickTime" } else { "no tickTime of those named" };
        let silent = format!(
            "{} of {all} servers do not tell their tickTime: add conf to 4lw.commands.whitelist, or look into their files",
            all - told
        );
        let (given, largest) = (options.server_tick, self.largest());
        let gain = |tick| drive::bears(granted, options.lease, Some(tick));
        let now = drive::bears(granted, options.lease, given);
        let (level, sentence) = match (given, largest) {
            (Some(given), Some(largest)) if given < largest => (
                Level::Failure,
                format!(
                    "server_tick is {given:?}, and a server's tickTime is {largest:?}: two clients may hold the same lock"
                ),
            ),
            (Some(given), Some(largest)) if told == all => {
                (Level::Fine, format!("server_tick is {given:?}, and {none} is more than {largest:?}"))
            }
            (Some(given), _) => (Level::Warning, format!("server_tick is {given:?}, and {silent}")),
            (None, Some(largest)) if told == all && gain(largest) > now => (
                Level::Note,
                format!(
                    "{none} is more than {largest:?}: if these are all that may lead, with server_tick={largest:?} \
                     a pause of less than {:?} never costs a lock; behind an observer with observerMasterPort say {:?}",
                    gain(largest),
                    2 * largest
                ),
            ),
            (None, Some(largest)) if told == all => {
                (Level::Note, format!("{none} is more than {largest:?}; server_tick would gain nothing"))
            }
            (None, _) => (Level::Note, silent),
        };
        report.add(level, "server_tick", sentence).with("told", told).with("servers", all);
    }
}

/// Whether the clock by which leases are kept, which also counts while the machine sleeps, goes as the other one does.
fn clock(since: (Instant, Duration), report: &mut Report) {
    let clock = system::clock::NAME;
    let (by_one, by_other) = (since.0.elapsed(), system::clock::now().saturating_sub(since.1));
    let (level, sentence) = match by_one.abs_diff(by_other) > by_one / 20 + Duration::from_millis(20) {
        true => (
            Level::Failure,
            format!("{clock}, by which leases are kept, went {by_other:?} while {by_one:?} passed"),
        ),
        false => (Level::Fine, format!("{clock}, by which leases are kept, goes right")),
    };
    report.add(level, "clock", sentence);
}

async fn containers(client: &Client, path: &str, report: &mut Report) -> Result<()> {
    match client.nodes().create(&format!("{path}/container"), b"", CreateMode::Container).await {
        Ok(_) => {
            report.add(
                Level::Fine,
                "containers",
                "supported: the parents of locks go when they are not used",
            );
        }
        Err(error) if error.kind() == ErrorKind::Denied => return Err(error),
        Err(error) => {
            let sentence = format!("not supported ({error}): the parents of locks stay for ever");
            report.add(Level::Warning, "containers", sentence);
        }
    }
    Ok(())
}

/// Has somebody without credentials try what only we should be able to do: with a node of ours, and, since it is the parent
/// that decides who deletes, with one that stands directly where ours are made.
async fn rights(fit: &Fit, options: &ClientOptions, report: &mut Report) -> Result<()> {
    match options.tls {
        Some(_) => report.add(Level::Fine, "transport", "encrypted, and the server showed a certificate"),
        None => report.add(Level::Note, "transport", "not encrypted: whoever sees the network sees the data"),
    };
    if options.auth.is_empty() && options.sasl.is_none() {
        let sentence = "no credentials are given: whoever reaches the servers may delete what others hold";
        report.add(Level::Note, "rights", sentence);
        return Ok(());
    }
    let mut nobody = options.clone();
    (nobody.auth, nobody.sasl, nobody.acl) = (Vec::new(), None, AclChoice::Open);
    if let Some(tls) = &mut nobody.tls {
        // To the servers a certificate is somebody, too.
        (tls.cert, tls.key) = (None, None);
    }
    let stranger = match Client::connect(&fit.server, nobody).await {
        Ok(stranger) => stranger,
        Err(error) => {
            report.add(Level::Fine, "rights", format!("nobody gets in without credentials ({error})"));
            return Ok(());
        }
    };
    let tried = try_rights(fit, &stranger, report).await;
    let _ = stranger.close(Some(TIDYING)).await;
    tried
}

async fn try_rights(fit: &Fit, stranger: &Client, report: &mut Report) -> Result<()> {
    let (ours, nodes) = (fit.client.nodes(), stranger.nodes());
    let is_denied = |error: Option<Error>| error.is_some_and(|error| error.kind() == ErrorKind::Denied);
    let node = ours.create(&format!("{}/ours", fit.path), b"", CreateMode::Ephemeral).await?;
    let (read, deleted) = (nodes.get(&node).await.err(), nodes.delete(&node, None).await.err());
    let (level, sentence) = match () {
        () if !is_denied(deleted) => (Level::Failure, "who has no credentials can delete what we hold"),
        () if !is_denied(read) => {
            (Level::Warning, "who has no credentials can read what we write, but not delete it")
        }
        () => (Level::Fine, "who has no credentials can neither read nor delete what is ours"),
    };
    report.add(level, "rights", sentence);

    let node = ours.create(&format!("{}-beside", fit.path), b"", CreateMode::Ephemeral).await?;
    let deleted = nodes.delete(&node, None).await.err();
    let place = if fit.base.is_empty() { "/" } else { &fit.base };
    let (level, sentence) = match is_denied(deleted) {
        true => (Level::Fine, format!("nor can they delete what stands directly below {place}")),
        // The root is everybody's unless somebody changed that.
        false => (
            if fit.base.is_empty() { Level::Note } else { Level::Warning },
            format!(
                "but they can delete what stands directly below {place}, such as a value, a counter or a barrier there: its access \
                 list lets everybody; use nodes below one that is yours alone"
            ),
        ),
    };
    report.add(level, "rights", sentence).with("place", place);
    let _ = ours.delete(&node, None).await;
    Ok(())
}

async fn room(client: &Client, path: &str, report: &mut Report) {
    let large = client.nodes().create(&format!("{path}/large"), &vec![0; LARGE], CreateMode::Ephemeral).await;
    let (level, sentence) = match large {
        Ok(_) => (Level::Fine, format!("a node of {LARGE} bytes fits")),
        Err(error) => (
            Level::Warning,
            format!(
                "a node of {LARGE} bytes does not fit ({error}): jute.maxbuffer of the servers is below its usual 1 MiB"
            ),
        ),
    };
    report.add(level, "packets", sentence);
}
