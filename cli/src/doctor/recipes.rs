//! What recipes need: sessions and leases, a lock at each server, containers, rights, and room for data.

use std::time::{Duration, Instant};

use zkrecipes::drive;
use zkrecipes::{AclChoice, Client, ClientOptions, CreateMode, ErrorKind, LockOptions, Result};

use super::millis;
use super::report::{Level, Report};
use crate::outcome::Outcome;

/// What ZooKeeper counts time in unless it is told otherwise.
const USUAL_TICK: Duration = Duration::from_secs(2);
/// A node of this size fits if the servers have the usual limit, and what goes around it with it.
const LARGE: usize = 1_000_000;

/// Looks at all of this below `path`, and leaves nothing there.
pub(super) fn check(
    servers: &[String],
    chroot: &str,
    options: &ClientOptions,
    path: &str,
    tick: Option<Duration>,
    report: &mut Report,
) -> Outcome<()> {
    let (mut is_first, began) = (true, (Instant::now(), boot_time()));
    for server in servers {
        let (hosts, server) = (format!("{server}{chroot}"), server.clone());
        let (options, path) = (options.clone(), path.to_owned());
        let mut found = Report::default();
        let looking = async move {
            let client = match Client::connect(&hosts, options.clone()).await {
                Ok(client) => client,
                // What is wrong with what was typed is no finding.
                Err(error) if error.kind() == ErrorKind::Invalid => return Err(error),
                Err(error) => {
                    found.add(Level::Failure, "lock", error.to_string()).of(&server);
                    return Ok(found);
                }
            };
            let looked = lock(&client, &server, &path, &mut found).await;
            let looked = match looked {
                Ok(lease) if is_first => {
                    rest(&client, &hosts, &options, &path, (lease, tick), &mut found).await
                }
                looked => looked.map(drop),
            };
            if let Err(error) = looked {
                found.add(Level::Failure, "lock", error.to_string()).of(&server);
            }
            let _ = client.nodes().delete_all(&path).await;
            let _ = client.close(Some(Duration::from_secs(2))).await;
            Ok(found)
        };
        let found = drive::wait(looking, None, None)?;
        is_first &= !found.has("session");
        report.append(found);
    }
    clock(began, report);
    Ok(())
}

/// For how long the holder was certain.
async fn lock(client: &Client, server: &str, path: &str, report: &mut Report) -> Result<Duration> {
    let began = Instant::now();
    let held = client.lock(&format!("{path}/lock"), LockOptions::default())?.acquire().await?;
    let lease = client.lease_remaining();
    held.release().await?;
    let took = millis(began.elapsed());
    report
        .add(Level::Fine, "lock", format!("taken and released in {took} ms"))
        .of(server)
        .with("took_ms", took);
    Ok(lease)
}

/// What is the same at all servers.
async fn rest(
    client: &Client,
    hosts: &str,
    options: &ClientOptions,
    path: &str,
    (lease, tick): (Duration, Option<Duration>),
    report: &mut Report,
) -> Result<()> {
    session(client, options, lease, tick, report);
    containers(client, path, report).await?;
    rights(client, hosts, options, path, report).await?;
    room(client, path, report).await;
    Ok(())
}

fn session(
    client: &Client,
    options: &ClientOptions,
    lease: Duration,
    tick: Option<Duration>,
    report: &mut Report,
) {
    let (asked, granted) = (options.session_timeout, client.session_timeout());
    let assumed = if tick.is_some() { "" } else { ", as is usual" };
    let tick = tick.unwrap_or(USUAL_TICK);
    let known = format!(
        "a session lasts {granted:?} without a word from its client; a holder that hears nothing is certain for \
         {:.1} s and then takes it for lost",
        lease.as_secs_f64()
    );
    let (level, sentence) = match () {
        () if granted < 2 * tick => (
            Level::Warning,
            format!(
                "{known}; that is less than two ticks of the server ({tick:?} each{assumed}), too little to tell a slow \
                 server from a dead one: ask for {:?} or more",
                2 * tick
            ),
        ),
        () if granted != asked => (
            Level::Warning,
            format!(
                "{known}; {asked:?} was asked for, but the servers' {} is {granted:?}",
                if granted < asked { "maxSessionTimeout" } else { "minSessionTimeout" }
            ),
        ),
        () => (Level::Fine, known),
    };
    report
        .add(level, "session", sentence)
        .with("asked_ms", millis(asked))
        .with("granted_ms", millis(granted))
        .with("certain_ms", millis(lease))
        .with("tick_ms", millis(tick));
}

/// Whether the clock by which leases are kept, which also counts while the machine sleeps, goes as the other one does.
fn clock(since: (Instant, Duration), report: &mut Report) {
    let clock = LEASES.1;
    let (by_one, by_other) = (since.0.elapsed(), boot_time().saturating_sub(since.1));
    let (level, sentence) = match by_one.abs_diff(by_other) > by_one / 20 + Duration::from_millis(20) {
        true => (
            Level::Failure,
            format!("{clock}, by which leases are kept, went {by_other:?} while {by_one:?} passed"),
        ),
        false => (Level::Fine, format!("{clock}, by which leases are kept, goes right")),
    };
    report.add(level, "clock", sentence);
}

/// The clock of core/src/session/system_clock.rs.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LEASES: (libc::clockid_t, &str) = (libc::CLOCK_BOOTTIME, "CLOCK_BOOTTIME");
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LEASES: (libc::clockid_t, &str) = (libc::CLOCK_MONOTONIC, "CLOCK_MONOTONIC");

fn boot_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a timespec of ours.
    unsafe { libc::clock_gettime(LEASES.0, &mut now) };
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
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

/// Has somebody without credentials try what only we should be able to do.
async fn rights(
    client: &Client,
    hosts: &str,
    options: &ClientOptions,
    path: &str,
    report: &mut Report,
) -> Result<()> {
    match options.tls {
        Some(_) => report.add(Level::Fine, "transport", "encrypted, and the server showed a certificate"),
        None => report.add(Level::Note, "transport", "not encrypted: whoever sees the network sees the data"),
    };
    if options.auth.is_empty() && options.sasl.is_none() {
        let sentence = "no credentials are given: whoever reaches the servers may delete what others hold";
        report.add(Level::Note, "rights", sentence);
        return Ok(());
    }
    let node = client.nodes().create(&format!("{path}/ours"), b"", CreateMode::Ephemeral).await?;
    let mut nobody = options.clone();
    (nobody.auth, nobody.sasl, nobody.acl) = (Vec::new(), None, AclChoice::Open);
    if let Some(tls) = &mut nobody.tls {
        // To the servers a certificate is somebody, too.
        (tls.cert, tls.key) = (None, None);
    }
    let stranger = match Client::connect(hosts, nobody).await {
        Ok(stranger) => stranger,
        Err(error) => {
            report.add(Level::Fine, "rights", format!("nobody gets in without credentials ({error})"));
            return Ok(());
        }
    };
    let (read, deleted) = (stranger.nodes().get(&node).await, stranger.nodes().delete(&node, None).await);
    let _ = stranger.close(Some(Duration::from_secs(2))).await;
    let is_denied = |outcome: std::result::Result<(), ErrorKind>| outcome == Err(ErrorKind::Denied);
    let (level, sentence) = match () {
        () if !is_denied(deleted.map_err(|error| error.kind())) => {
            (Level::Failure, "who has no credentials can delete what we hold")
        }
        () if !is_denied(read.map(drop).map_err(|error| error.kind())) => {
            (Level::Warning, "who has no credentials can read what we write, but not delete it")
        }
        () => (Level::Fine, "who has no credentials can neither read nor delete what is ours"),
    };
    report.add(level, "rights", sentence);
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
