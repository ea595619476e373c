//! `zkrecipes counter get|add PATH`.

use zkrecipes::CounterOptions;
use zkrecipes::drive::{self, CancelToken};

use crate::common::Common;
use crate::help::examples;
use crate::outcome::{self, Outcome};

/// Read or change a number that many count on
///
/// A change is made exactly once, also when its answer gets lost. With status
/// 69 it is not known whether it was made. What would go beyond 64 bits, or
/// 32 with --layout shared, is refused with status 2, and nothing changes.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, arg_required_else_help = false, after_help = examples!("\
  zkrecipes counter add /counters/orders
  zkrecipes counter add /counters/seats -2
  test $(zkrecipes counter get /counters/seats) -gt 0 && echo free"))]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// How Apache Curator keeps the value: atomic for its DistributedAtomicLong (the default), or shared for its
    /// SharedCount; kazoo's Counter needs --naming kazoo
    #[arg(long, global = true)]
    layout: Option<String>,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Prints the value, which is 0 as long as nobody has counted
    Get {
        /// Of the node that keeps the value
        path: String,
    },
    /// Adds N, or 1, and prints the new value. N may be negative
    Add {
        /// Of the node that keeps the value
        path: String,
        /// How many to add
        #[arg(default_value = "1", allow_negative_numbers = true, value_parser = whole)]
        n: i64,
    },
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let mut options = CounterOptions::default();
    if let Some(layout) = args.layout {
        options.layout = layout.parse()?;
    }
    let (path, n) = match args.verb {
        Verb::Get { path } => (path, None),
        Verb::Add { path, n } => (path, Some(n)),
    };
    common.with_client(&CancelToken::new(), |client| {
        let counter = client.counter(&path, options)?;
        let value = drive::wait(
            async move {
                match n {
                    Some(n) => counter.add(n).await,
                    None => counter.get().await,
                }
            },
            None,
            None,
        )?;
        outcome::print(&format!("{value}\n"))
    })
}

fn whole(n: &str) -> Result<i64, String> {
    n.parse().map_err(|_| "it is not a whole number of at most 64 bits".to_owned())
}
