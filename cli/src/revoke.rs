//! `zkrecipes break PATH NODE`: asks first, deletes later, and says what it did.

use std::time::{Duration, Instant};

use zkrecipes::drive::{self, CancelToken, Tick};
use zkrecipes::{Client, ErrorKind, Result};

use crate::args::{self, Word, Words};
use crate::common::Common;
use crate::contenders::{self, Row};
use crate::help;
use crate::outcome::{self, Failure, NOBODY, Outcome};
use crate::table;

pub(crate) fn run(mut words: Words, mut common: Common) -> Outcome {
    let (mut path, mut node, mut force_after) = (None, None, None);
    while let Some(word) = words.next_word()? {
        match word {
            Word::Option(option) => match option.as_str() {
                "--help" | "-h" => return help::print(help::BREAK),
                "--force-after" => force_after = Some(words.duration(&option)?),
                _ if common.accept(&option, &mut words)? => {}
                _ => return Err(args::unknown(&option, "zkrecipes break")),
            },
            Word::Dashes => {}
            Word::Plain(word) if path.is_none() => path = Some(args::text(&word, "the path")?),
            Word::Plain(word) if node.is_none() => node = Some(args::text(&word, "the node")?),
            Word::Plain(word) => return Err(args::superfluous(&word, "zkrecipes break")),
        }
    }
    let (Some(path), Some(node)) = (path, node) else {
        return Err(Failure::usage(
            "break needs a path and a node of zkrecipes ls, or the word holder; see zkrecipes break --help",
        ));
    };
    common.looking(&CancelToken::new(), |onlooker| {
        let (looking, asked) = (onlooker.clone(), path.clone());
        let rows = drive::wait(async move { looking.gather(&asked).await }, None, None)?.rows;
        let chosen = choose(rows, &path, &node)?;
        break_all(&onlooker.client, chosen, force_after)
    })
}

/// The contenders that were meant.
fn choose(rows: Vec<Row>, path: &str, node: &str) -> Outcome<Vec<Row>> {
    if node == "holder" {
        let holders: Vec<_> = rows.into_iter().filter(|row| row.contender.holds).collect();
        if holders.is_empty() {
            return Err(Failure::new(NOBODY, format!("nobody holds {path}; there is nobody to ask")));
        }
        return Ok(holders);
    }
    let node = contenders::whole(path, node);
    match rows.into_iter().find(|row| row.path() == node) {
        Some(row) => Ok(vec![row]),
        None => Err(Failure::new(
            NOBODY,
            format!("{node:?} is not, or no longer, a contender of {path}; see zkrecipes ls {path}"),
        )),
    }
}

fn break_all(client: &Client, rows: Vec<Row>, force_after: Option<Duration>) -> Outcome {
    let mut standing = Vec::new();
    for row in rows {
        let target = Target::new(client, row);
        // Before asking: the transaction that made the node tells it from a later one of the same name.
        let (looking, node) = (client.clone(), target.node.clone());
        let stat = drive::wait(async move { looking.nodes().exists(&node).await }, None, None)?;
        match stat {
            Some(stat) if target.revoke(None)? => {
                outcome::print(&format!("asked {} to let go\n", target.name))?;
                standing.push((target, format!("1:{}:", stat.czxid)));
            }
            _ => {
                outcome::print(&format!("{} has gone already\n", target.name))?;
            }
        }
    }
    let Some(patience) = force_after else { return Ok(0) };
    let until = Instant::now() + patience;
    for (target, prefix) in standing {
        let gone = target.goes(format!("{prefix}{}", target.node), until)?;
        let told = match gone || !target.revoke(Some(Duration::ZERO))? {
            true => "let go",
            false => "did not let go; its node was deleted",
        };
        outcome::print(&format!("{} {told}\n", target.name))?;
    }
    Ok(0)
}

/// One node to break.
struct Target<'a> {
    client: &'a Client,
    row: Row,
    /// The full path.
    node: String,
    /// For people.
    name: String,
}

impl Target<'_> {
    fn new(client: &Client, row: Row) -> Target<'_> {
        let node = row.path();
        let who = row.identity().map(|_| format!(" ({})", table::shown_identity(&row))).unwrap_or_default();
        let name = format!("{}{who}", table::printable(row.node()));
        Target { client, row, node, name }
    }

    /// Asks, or deletes with no time to go; whether there was anybody.
    fn revoke(&self, force_after: Option<Duration>) -> Result<bool> {
        let row = self.row.clone();
        drive::wait(async move { row.revoke(force_after).await }, None, None)
    }

    /// Whether the acquisition of that sequencer ends in time.
    fn goes(&self, sequencer: String, until: Instant) -> Result<bool> {
        let client = self.client.clone();
        let every = until.saturating_duration_since(Instant::now());
        let ended = drive::wait(
            async move { client.watch_sequencer(&sequencer).await },
            None,
            Some(Tick { every, hook: &mut || false }),
        );
        match ended {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::Cancelled => Ok(false),
            Err(error) => Err(error),
        }
    }
}
