//! `zkrecipes doctor`: checks whether an ensemble has what the recipes need.

mod product;
mod recipes;
mod report;
mod server;

use std::time::{Duration, SystemTime};

use zkrecipes::ClientOptions;

use self::product::Product;
use self::report::{Level, Report};
use self::server::Said;
use crate::common::Common;
use crate::help::examples;
use crate::outcome::{self, Failure, Outcome};

/// From where on a server has more to do than it gets done.
const MANY_OUTSTANDING: u64 = 100;
/// From where on a server lags behind the leader by more than what was written while we asked.
const MUCH_LAG: u64 = 1000;
const SLOW: Duration = Duration::from_millis(250);

/// Whether the servers are fit for all this
///
/// Looks at each server that is named, at all of them at the same time:
/// whether it can be reached, what it is (ZooKeeper, ClickHouse Keeper or
/// RaftKeeper, and what does not work at the last two), how far it is behind, how much it has
/// to do and how long that takes; and takes and releases a lock there. Then
/// what all have in common: how long a session lasts and how long a pause may
/// be that never costs a lock, whether --server-tick is true or would help, the
/// clock, containers, encryption, what somebody without credentials may do, and
/// whether large nodes fit. A line each begins with ok, note, warning or
/// FAILURE.
///
/// It makes nodes of its own, zkrecipes-doctor-..., and deletes them with all
/// that is below them. A chroot that is not there is not made: it may be
/// mistyped, and is a warning. What a server says of itself it is asked by the
/// four letter words srvr, which servers answer unless they were told not to,
/// and conf, which few answer unless they were told to.
///
/// Its own status is 0 when all is well, 1 with warnings, and 2 with failures
/// or when the command line is wrong.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes doctor --hosts zk1:2181,zk2:2181,zk3:2181
  zkrecipes doctor --json | jq '.checks[] | select(.level == \"failure\")'"))]
pub(crate) struct Args {
    /// Where to make these nodes, if not at the top
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    below: String,
    /// An object: hosts, level, and checks, an array of objects with check, server, level, message and figures
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { below, json: is_json } = args;
    if !below.is_empty() && !below.starts_with('/') {
        return Err(Failure::usage(format!("--below {below:?}: paths start with '/'")));
    }
    let (hosts, options) = common.resolved()?;
    // Nodes of our own, which are deleted afterwards with all that is below them.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let own = format!("zkrecipes-doctor-{}-{:x}", std::process::id(), now.as_nanos());
    let (mut report, mut found) = (Report::default(), Report::default());
    let (servers, chroot) = server::servers(&hosts);
    let place = format!("{chroot}{}", below.trim_end_matches('/'));
    // Before the servers are asked how they are: then all have something to be up to date with.
    recipes::check(&servers, &place, &own, &options, &mut found)?;
    let said = look(&servers, &options, &mut report)?;
    ensemble(&said, servers.len(), &mut report);
    products(&said, &mut report);
    report.append(found);
    outcome::print(&if is_json { report.json(&hosts) } else { report.lines() })?;
    Ok(report.status())
}

/// Asks all servers at the same time.
fn look(servers: &[String], options: &ClientOptions, report: &mut Report) -> Outcome<Vec<(String, Said)>> {
    let asking = |server: &String| {
        let (server, options) = (server.clone(), options.clone());
        std::thread::spawn(move || (server::look(&server, &options), server))
    };
    let asking: Vec<_> = servers.iter().map(asking).collect();
    let mut all = Vec::new();
    for asked in asking {
        let Ok((looked, server)) = asked.join() else { continue };
        match looked? {
            Ok(said) => {
                tell(&server, &said, report);
                all.push((server, said));
            }
            Err(reason) => {
                report.add(Level::Failure, "server", reason).of(&server);
            }
        }
    }
    Ok(all)
}

fn tell(server: &str, said: &Said, report: &mut Report) {
    let Said { product, version, mode, outstanding, connections, latency: (average, most), took, .. } = said;
    let (level, remark) = match () {
        () if *outstanding > MANY_OUTSTANDING => (Level::Warning, "; it has more to do than it gets done"),
        () if *took > SLOW => (Level::Warning, "; it is slow to answer"),
        () if mode == "read-only" => (Level::Warning, "; it has lost the others and only reads"),
        () => (Level::Fine, ""),
    };
    let sentence = format!(
        "{mode}, {}{version}, answers in {:.1} ms, {connections} connections, {outstanding} requests outstanding, \
         requests take {average} ms on average and {most} ms at most{remark}",
        if *product == Product::ZooKeeper { String::new() } else { format!("{} ", product.name()) },
        millis(*took)
    );
    report
        .add(level, "server", sentence)
        .of(server)
        .with("mode", mode.as_str())
        .with("product", product.name())
        .with("version", version.as_str())
        .with("answer_ms", millis(*took))
        .with("connections", *connections)
        .with("outstanding", *outstanding)
        .with("latency_average_ms", *average)
        .with("latency_max_ms", *most)
        .with("zxid", format!("{:#x}", said.zxid));
}

/// What only shows when all are seen together.
fn ensemble(said: &[(String, Said)], servers: usize, report: &mut Report) {
    let leaders: Vec<_> = said.iter().filter(|(_, said)| said.mode == "leader").collect();
    match (said.len(), &leaders[..]) {
        (0, _) => return,
        (1, []) if servers == 1 && said[0].1.mode == "standalone" => {
            report.add(Level::Note, "ensemble", "one server alone: when it is down, so is every lock");
        }
        (_, [(leader, at)]) => {
            // Behind what the leader had when it was asked: the others were asked at the same time.
            let behind = |other: &Said| match other.zxid >> 32 == at.zxid >> 32 {
                true => at.zxid.saturating_sub(other.zxid),
                false => u64::MAX,
            };
            let most = said.iter().map(|(_, other)| behind(other)).max().unwrap_or(0);
            let lag = match most {
                u64::MAX => {
                    "a server is in an earlier epoch than the leader: it has lost the others".to_owned()
                }
                most => format!("{leader} leads, and nobody is more than {most} changes behind"),
            };
            let level = if most > MUCH_LAG { Level::Warning } else { Level::Fine };
            report.add(level, "ensemble", lag).with("leader", leader.as_str()).with("lag", most);
        }
        (_, []) if said.iter().all(|(_, said)| said.mode != "standalone") => {
            // It may be a server that was not named.
            report.add(
                Level::Warning,
                "ensemble",
                "none of these servers leads; name all servers of the ensemble",
            );
        }
        (_, _) => {
            let sentence =
                "these servers do not belong to one ensemble: some lead or stand alone beside others";
            report.add(Level::Failure, "ensemble", sentence);
        }
    }
    if said.iter().any(|(_, other)| other.version != said[0].1.version) {
        report.add(Level::Note, "versions", "the servers have different versions");
    }
    if servers.is_multiple_of(2) {
        let sentence = format!("{servers} servers bear no more failures than {} would", servers - 1);
        report.add(Level::Note, "ensemble", sentence);
    }
}

/// What is to be known of servers that are not ZooKeeper, once for each kind.
fn products(said: &[(String, Said)], report: &mut Report) {
    let mut told = Vec::new();
    for (_, Said { product, .. }) in said {
        if !told.contains(product) {
            told.push(*product);
            product.tell(report);
        }
    }
}

fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10_000.0).round() / 10.0
}
