//! `zkrecipes latch count-down|wait|remaining|reset PATH`.

use std::time::Duration;

use zkrecipes::{ErrorKind, drive};

use crate::args;
use crate::common::Common;
use crate::help::examples;
use crate::job::Desk;
use crate::outcome::{self, Failure, NOT_ACQUIRED, Outcome};

/// Wait until so many are done
///
/// Who counts first decides how many that are: a latch that is there keeps
/// what is left of it, whatever the others say. A count is made exactly once,
/// also when its answer gets lost. With status 69 it is not known whether it
/// was made.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, arg_required_else_help = false, after_help = examples!("\
  import-part 7 && zkrecipes latch count-down --of 12 /latches/imports
  zkrecipes latch wait --of 12 --timeout 2h /latches/imports && make-report
  zkrecipes latch reset --of 12 /latches/imports"))]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Counts down by N, or 1, and prints how much is left; 0 is open
    CountDown {
        #[command(flatten)]
        latch: Which,
        /// By how many
        #[arg(default_value = "1", value_parser = args::count)]
        n: usize,
    },
    /// Waits until it is open
    Wait {
        #[command(flatten)]
        latch: Which,
        /// Wait no longer than that, once a server has been found; status 75
        #[arg(long, short = 'w', value_name = "TIME", value_parser = args::duration)]
        timeout: Option<Duration>,
    },
    /// Prints how much is left; 0 is open
    Remaining {
        #[command(flatten)]
        latch: Which,
    },
    /// Sets how much is left to N: it is closed
    Reset {
        #[command(flatten)]
        latch: Which,
    },
}

#[derive(clap::Args)]
struct Which {
    /// Of the latch
    path: String,
    /// How much is left of a latch that nobody has counted down or reset
    #[arg(long, value_name = "N", value_parser = args::count)]
    of: usize,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let (Verb::CountDown { latch, .. }
    | Verb::Wait { latch, .. }
    | Verb::Remaining { latch }
    | Verb::Reset { latch }) = &args.verb;
    let (path, of) = (latch.path.clone(), latch.of);
    let desk = Desk::open()?;
    let outcome = common.with_client(desk.cancel(), |client| {
        let latch = client.latch(&path, of)?;
        // Nobody would know of a change whether it was made.
        let withdrawn_by = matches!(args.verb, Verb::Wait { .. }).then(|| desk.cancel());
        let done = drive::wait(
            async move {
                match args.verb {
                    Verb::CountDown { n, .. } => latch.count_down(n).await.map(Some),
                    Verb::Wait { timeout, .. } => latch.wait(timeout).await.map(|()| None),
                    Verb::Remaining { .. } => latch.remaining().await.map(Some),
                    Verb::Reset { .. } => latch.reset(of).await.map(|()| None),
                }
            },
            withdrawn_by,
            None,
        );
        match done {
            Ok(Some(left)) => outcome::print(&format!("{left}\n")),
            Ok(None) => Ok(0),
            Err(error) if error.kind() == ErrorKind::Timeout => {
                Err(Failure::new(NOT_ACQUIRED, format!("the latch {path} is still closed")))
            }
            Err(error) => Err(error.into()),
        }
    });
    desk.explain(outcome)
}
