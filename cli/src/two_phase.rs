//! `zkrecipes 2pc ls|show|decide PATH`: for the people who look after transactions.

use std::time::Duration;

use serde_json::Value;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{CommitMode, CommitStatus, CoordinatorState, Outcome as Decision, SiteStatus};

use crate::common::Common;
use crate::help::examples;
use crate::outcome::{self, Failure, NO, Outcome};
use crate::table::{self, Fields, Text};

/// Look after two-phase commits
#[derive(clap::Args)]
#[command(arg_required_else_help = false, after_help = examples!("\
  zkrecipes 2pc ls /payments
  zkrecipes 2pc show /payments p-4711
  zkrecipes 2pc decide --reason 'site 3 is gone' /payments p-4711 abort"))]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Show the transactions that are not over yet, the oldest first
    ///
    ///   ID           as the coordinator has called it
    ///   OUTCOME      commit, abort, or open while it is not decided; unknown
    ///                where it may not be read or is not understood: a line
    ///                on stderr says which
    ///   AGE          since it was begun
    ///   VOTED        how many of its sites have voted
    ///   DONE         how many have applied the outcome
    ///   COORDINATOR  present; absent when its session has ended, so that
    ///                another one can recover it; done when it needs none any
    ///                more
    #[command(verbatim_doc_comment)]
    Ls {
        /// Of the two-phase commits
        path: String,
        /// An array of objects: id, outcome, reason, mode, age, timeout, coordinator, payload, and sites with site, present,
        /// voted, done; and problem, which is empty unless it cannot be read. Times are in seconds
        #[arg(long)]
        json: bool,
    },
    /// Show one, with its payload and each of its sites. Status 1 when there is no such transaction
    Show {
        /// Of the two-phase commits
        path: String,
        /// As 2pc ls shows it
        id: String,
        /// An object, as ls prints several
        #[arg(long)]
        json: bool,
    },
    /// Give an open transaction up, for all its sites, and print what is decided
    ///
    /// A decision is written once: status 1 when it was commit already. Only
    /// the sites can decide commit, by voting.
    #[command(verbatim_doc_comment)]
    Decide {
        /// Of the two-phase commits
        path: String,
        /// As 2pc ls shows it
        id: String,
        /// The word abort
        decision: String,
        /// What the sites and 2pc show are told
        #[arg(long, value_name = "TEXT", default_value = "by hand")]
        reason: String,
    },
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    match args.verb {
        Verb::Ls { path, json } => list(common, &path, json),
        Verb::Show { path, id, json } => show(common, &path, &id, json),
        Verb::Decide { path, id, decision, reason } => match decision.as_str() {
            "abort" => abort(common, &path, &id, &reason),
            "commit" => Err(Failure::usage(
                "only the sites together can decide commit, by voting; 2pc decide PATH ID abort gives it up",
            )),
            other => Err(Failure::usage(format!("2pc can decide abort, and not {other:?}"))),
        },
    }
}

fn list(common: Common, path: &str, is_json: bool) -> Outcome {
    common.with_client(&CancelToken::new(), |client| {
        let transactions = client.two_phase_commit(path, CommitMode::default())?;
        let all = drive::wait(async move { transactions.history().await }, None, None)?;
        if is_json {
            return outcome::print(&table::json_array(all.iter().map(fields)));
        }
        let headings = ["ID", "OUTCOME", "AGE", "VOTED", "DONE", "COORDINATOR"];
        outcome::print(&table::below(headings, all.iter().map(cells)))?;
        if all.is_empty() {
            outcome::say(&format!("there is no transaction in {path}"));
        }
        for unknown in all.iter().filter(|one| !one.problem.is_empty()) {
            outcome::say(&format!("{} is unknown: {}", table::printable(&unknown.id), unknown.problem));
        }
        Ok(0)
    })
}

fn show(common: Common, path: &str, id: &str, is_json: bool) -> Outcome {
    common.with_client(&CancelToken::new(), |client| {
        let transactions = client.two_phase_commit(path, CommitMode::default())?;
        let asked = id.to_owned();
        let found = drive::wait(async move { transactions.show(&asked).await }, None, None)?;
        let Some(one) = found else {
            return Err(Failure::new(NO, format!("there is no transaction {id:?} in {path}")));
        };
        if is_json {
            return outcome::print(&(table::json(fields(&one)) + "\n"));
        }
        let mut text = String::new();
        if !one.problem.is_empty() {
            return outcome::print(&format!("{}: {}\n", table::printable(&one.id), one.problem));
        }
        let mut row = |name: &str, value: &str| text += &format!("{name:<13}{value}\n");
        row("transaction", &table::printable(&one.id));
        row("mode", one.mode.name());
        row("outcome", outcome_of(&one));
        if !one.reason.is_empty() {
            row("reason", &table::printable(&one.reason));
        }
        row("age", &table::age(one.age));
        row("timeout", &table::age(one.timeout));
        row("coordinator", coordinator_of(&one));
        row("payload", &Text::of(&one.payload).shown(usize::MAX));
        let headings = ["SITE", "PRESENT", "VOTED", "DONE"].map(str::to_owned);
        let rows = one.sites.iter().map(|site| {
            let state = [site.is_present, site.has_voted, site.has_acknowledged].map(yes);
            [table::printable(&site.site), state[0].to_owned(), state[1].to_owned(), state[2].to_owned()]
        });
        let cells: Vec<_> = std::iter::once(headings).chain(rows).collect();
        outcome::print(&(text + "\n" + &table::columns(&cells).join("\n") + "\n"))
    })
}

fn abort(common: Common, path: &str, id: &str, reason: &str) -> Outcome {
    common.with_client(&CancelToken::new(), |client| {
        let transactions = client.two_phase_commit(path, CommitMode::default())?;
        let (id, reason) = (id.to_owned(), reason.to_owned());
        let decided = drive::wait(async move { transactions.decide_abort(&id, &reason).await }, None, None)?;
        outcome::print(&format!("{}\n", decided.name()))?;
        Ok(if decided == Decision::Abort { 0 } else { NO })
    })
}

fn cells(one: &CommitStatus) -> [String; 6] {
    let of = |has: fn(&SiteStatus) -> bool| {
        format!("{}/{}", one.sites.iter().filter(|site| has(site)).count(), one.sites.len())
    };
    [
        table::printable(&one.id),
        outcome_of(one).to_owned(),
        table::age(one.age),
        of(|site| site.has_voted),
        of(|site| site.has_acknowledged),
        coordinator_of(one).to_owned(),
    ]
}

fn outcome_of(one: &CommitStatus) -> &'static str {
    match one.outcome {
        Some(outcome) => outcome.name(),
        None if one.problem.is_empty() => "open",
        None => "unknown",
    }
}

fn coordinator_of(one: &CommitStatus) -> &'static str {
    match one.coordinator {
        _ if !one.problem.is_empty() => "unknown",
        CoordinatorState::Present => "present",
        CoordinatorState::Absent => "absent",
        CoordinatorState::Done => "done",
    }
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn fields(one: &CommitStatus) -> Fields {
    let site = |site: &SiteStatus| {
        Value::Object(table::object([
            ("site", site.site.as_str().into()),
            ("present", site.is_present.into()),
            ("voted", site.has_voted.into()),
            ("done", site.has_acknowledged.into()),
        ]))
    };
    let seconds = |duration: Duration| (duration.as_millis() as f64 / 1000.0).into();
    let mut fields = table::object([
        ("id", one.id.as_str().into()),
        ("outcome", one.outcome.map(|outcome| outcome.name()).into()),
        ("reason", one.reason.as_str().into()),
        ("mode", one.mode.name().into()),
        ("age", seconds(one.age)),
        ("timeout", seconds(one.timeout)),
        ("coordinator", coordinator_of(one).into()),
    ]);
    Text::of(&one.payload).add_to(&mut fields, "payload");
    let sites: Vec<_> = one.sites.iter().map(site).collect();
    fields.extend(table::object([("sites", sites.into()), ("problem", one.problem.as_str().into())]));
    fields
}
