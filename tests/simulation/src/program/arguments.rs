//! What the command was asked for.

use std::num::NonZero;

pub const HELP: &str = "\
Runs the recipes under simulated faults and virtual time; one seed is one schedule.

  --seeds N   how many seeds (100)
  --seed S    the first seed (1); alone, only that one
  --only WORD of these seeds, those whose workers are after something with this in its
              name: plain lock, read/write lock, semaphore, multi-lock, election,
              counter, group, tree, queue, double barrier, two-phase commit
  --singles   instead, of one seed: every request of a client that uses a recipe, with everything
              that can happen to one; --only NAME for one case, or for those that begin so
  --pairs     the same with every pair of requests, for plain lock, queue, election, counter and
              two-phase commit; and any two crashes of a coordinator and two sites
  --jobs N    how many processes share the work (as many as there are processors)
  --stop      end with the first seed that fails
  --trace     print every event
  --help      this text";

/// Given to a process that another one has started: it starts none itself.
pub const PART: &str = "--part";

pub struct Arguments {
    pub first: u64,
    pub count: u64,
    pub jobs: usize,
    pub aloud: bool,
    pub stops: bool,
    pub is_part: bool,
    pub only: String,
    /// Cases of one request, or of two.
    pub rows: Option<bool>,
}

impl Arguments {
    /// `None` if it was asked for help.
    pub fn given() -> Result<Option<Arguments>, String> {
        let (mut first, mut count, mut aloud, mut stops, mut is_part) = (None, None, false, false, false);
        let (mut only, mut rows, mut jobs) = (String::new(), None, None);
        let mut given = std::env::args().skip(1);
        while let Some(argument) = given.next() {
            let mut number = || {
                let value = given.next().ok_or_else(|| format!("{argument} needs a number"))?;
                value.parse::<u64>().map_err(|_| format!("{value:?} is not a number for {argument}"))
            };
            match argument.as_str() {
                "--seeds" => count = Some(number()?),
                "--seed" => first = Some(number()?),
                "--jobs" => jobs = Some(number()?),
                "--only" => only = given.next().ok_or("--only needs a word")?,
                "--singles" => rows = Some(false),
                "--pairs" => rows = Some(true),
                "--stop" => stops = true,
                PART => is_part = true,
                "--trace" => aloud = true,
                "--help" | "-h" => return Ok(None),
                other => return Err(format!("{other:?} is no option; see --help")),
            }
        }
        let count = count.unwrap_or(if first.is_some() || rows.is_some() { 1 } else { 100 });
        let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let jobs = jobs.map_or_else(processors, |jobs| jobs.max(1) as usize);
        Ok(Some(Arguments { first: first.unwrap_or(1), count, jobs, aloud, stops, is_part, only, rows }))
    }

    pub fn seeds(&self) -> impl Iterator<Item = u64> + Clone + use<> {
        let first = self.first;
        (0..self.count).map(move |nth| first.wrapping_add(nth))
    }
}
