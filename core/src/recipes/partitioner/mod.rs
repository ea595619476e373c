//! Partitions shared among the members who are there.
//!
//! ```text
//! /partitions/imports
//!     members/GUID-1-LIST-NAME           who is there, with its weight and which list of partitions it knows; ephemeral
//!     leader                             the assignment, as what the leader of an election says: see `assignment`
//!         _c_GUID-latch-0000000003       those who would compute it
//!     partitions/P/_c_GUID-lock-…        who has partition P: a lock
//! ```
//!
//! 1. A member makes a node of its own and stands in an election. Who leads follows the list of members, computes who is to have
//!    what, and writes it down. All others read only that: who comes or goes costs each of them one read.
//! 2. Each partition is a turn of its own. Whatever anybody believes of the assignment, two never have one partition: a member
//!    queues for the lock of what is assigned to it, and gets it when the one before has let go or its session has ended.
//! 3. Who has what is assigned to another is asked to let go, as by `revoke`. After the time for draining it is taken from it.
//! 4. A new leader begins with the assignment that was written down last, so that nothing moves because of it.
//! 5. Members of one name are one member. A process that is started again under its name waits for what the last one had, and
//!    nothing moves meanwhile.

mod assignment;
mod handed_out;
mod membership;
mod owners;
mod sharing;
mod turns;

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio::task::JoinHandle;

use self::assignment::hash;
use self::membership::Participation;
use self::sharing::{Ended, LISTING, MEMBERS, NEXT, PartitionMember, Sharing, has_left};
use super::contenders;
use super::held::Held;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::Feed;
use crate::options::PartitionerOptions;
use crate::path;
use crate::runtime;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::random;
use crate::session::server_session::catching_up::Beginning;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::WireError;
use crate::turn::name::Kind;
use crate::turn::revocation::REVOKE;

pub use self::owners::partition_owners;

/// One partition, held: its name is [`Held::name`].
pub type Partition = Held;

/// The names of partitions: `"0"` to `"N-1"` of a number, or any others. The same for all members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitions(Vec<String>);

impl From<usize> for Partitions {
    fn from(count: usize) -> Partitions {
        // What is too many is refused where they are used.
        Partitions((0..count.min(MOST + 1)).map(|partition| partition.to_string()).collect())
    }
}

impl From<Vec<String>> for Partitions {
    fn from(names: Vec<String>) -> Partitions {
        Partitions(names)
    }
}

impl From<&[&str]> for Partitions {
    fn from(names: &[&str]) -> Partitions {
        Partitions(names.iter().map(|name| (*name).to_owned()).collect())
    }
}

impl<const N: usize> From<[&str; N]> for Partitions {
    fn from(names: [&str; N]) -> Partitions {
        Partitions::from(&names[..])
    }
}

const NOTHING_WON: &str = "no partition was won";

/// How many partitions there may be: the assignment of as many, with long names of members, fits into one node.
const MOST: usize = 10_000;

impl Client {
    /// A handle on the partitions at `path`, for one member of those who share them. Does no I/O.
    pub fn partitioner(
        &self,
        path: &str,
        partitions: impl Into<Partitions>,
        options: PartitionerOptions,
    ) -> Result<Partitioner> {
        let session = self.session_for_handle()?;
        path::recipe(path)?;
        options.check_ranges().map_err(|error| error.with_path(path))?;
        let Partitions(partitions) = partitions.into();
        let invalid = |argument, problem: String| Err(Error::invalid(argument, problem).with_path(path));
        if partitions.is_empty() || partitions.len() > MOST {
            return invalid("partitions", format!("there have to be between 1 and {MOST}"));
        }
        if let Some((name, problem)) =
            partitions.iter().find_map(|name| Some((name, path::problem_of_name(name)?)))
        {
            return invalid("partitions", format!("{name:?} is no name of one: it {problem}"));
        }
        let mut sorted: Vec<&str> = partitions.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return invalid("partitions", format!("{:?} is named twice", twice[0]));
        }
        let list = format!("{:016x}", hash(&sorted));
        // In one order, whatever the order in which they were named.
        let partitions = sorted.into_iter().map(str::to_owned).collect();
        let name = match options.name {
            Some(name) => match path::problem_of_name(&name) {
                Some(problem) => return invalid("name", format!("{name:?} is not one: it {problem}")),
                None => name,
            },
            None => random::guid().simple().to_string(),
        };
        let member = PartitionMember { name, weight: options.weight, list };
        path::validate(&path::join(&path::join(path, MEMBERS), &member.node()))?;
        let retry = session.options().retry.clone();
        let sharing = Sharing {
            client: self.clone(),
            path: path.to_owned(),
            partitions,
            member,
            drain: options.drain,
            assignment: Mutex::default(),
            won: Mutex::default(),
            news: Notify::new(),
            pause: (retry.base, retry.max),
        };
        Ok(Partitioner { sharing: Arc::new(sharing), membership: Arc::default() })
    }
}

/// Partitions shared among the members who are there: `client.partitioner(path, partitions, options)`. Clones are the same member.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let imports = client.partitioner("/partitions/imports", 2, Default::default())?;
/// let first = imports.next(None).await?;
/// let second = imports.next(None).await?;
/// let mut names = [first.name(), second.name()];
/// names.sort();
/// assert_eq!(names, ["0", "1"]);
/// assert!(first.is_held());
/// imports.leave().await?;
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Partitioner {
    sharing: Arc<Sharing>,
    /// While it takes part. The last handle to go leaves, unless a partition is around.
    membership: Arc<tokio::sync::Mutex<Attendance>>,
}

#[derive(Default)]
enum Attendance {
    /// Not yet, or no more because it could not go on.
    #[default]
    Apart,
    Member(Participation),
    Left,
}

impl Partitioner {
    /// Where the partitions are shared.
    pub fn path(&self) -> &str {
        &self.sharing.path
    }

    /// The name of this member.
    pub fn name(&self) -> &str {
        &self.sharing.member.name
    }

    /// The next partition that this member has won, which is its caller's until it lets go of it or loses it. The first call joins
    /// the others. Timeout after `limit`: the member stays one.
    ///
    /// A partition that is to move is asked for: [`Held::on_revoke`]. Who does not let go within the time for draining loses
    /// it. What was let go of unasked comes again, after a pause.
    ///
    /// Mismatch if the others share another list of partitions; Cancelled if the member leaves meanwhile or has left.
    ///
    /// # Cancel safety
    /// Dropping the future loses no partition: what was won is for the next call.
    pub async fn next(&self, limit: Option<Duration>) -> Result<Partition> {
        let session = self.sharing.client.session()?;
        let mut call = session.wait(limit).timeout_says(NOTHING_WON);
        let next = async {
            let ended = self.joined(&session, &mut call).await?;
            self.next_won(&ended, &mut call).await
        };
        next.await.map_err(|error: Error| error.with_path(self.path()))
    }

    /// Becomes a member unless it is one; answers who tells why it is one no more.
    async fn joined(&self, session: &Arc<Session>, call: &mut Call) -> Result<Ended> {
        let mut pause = self.sharing.pause();
        loop {
            let place = call.within_reach(NEXT, self.membership.clone().lock_owned()).await?;
            match &*place {
                Attendance::Member(membership) if !membership.has_ended() => return Ok(membership.ended()),
                Attendance::Left => return Err(has_left()),
                Attendance::Apart | Attendance::Member(_) => {}
            }
            let joining = self.begin_to_join(place, session);
            let joined = call.within_reach(NEXT, joining).await?;
            let joined = joined.unwrap_or_else(|_| Err(Error::closed("client")));
            match joined {
                // A wait without a limit outlasts outages.
                Err(error)
                    if error.kind() == ErrorKind::ConnectionLost
                        && !call.has_limit()
                        && !call.is_single_attempt() =>
                {
                    call.wait_for(pause.pass(session.clock())).await?;
                }
                joined => joined?,
            }
        }
    }

    /// In a task of its own: a caller that has less time than it takes finds it done the next time. It has the place from
    /// now on: who leaves although this is on its way leaves behind it.
    fn begin_to_join(
        &self,
        mut place: OwnedMutexGuard<Attendance>,
        session: &Arc<Session>,
    ) -> JoinHandle<Result<()>> {
        let (sharing, session) = (self.sharing.clone(), session.clone());
        runtime::spawn_task(async move {
            *place = Attendance::Apart;
            *place = Attendance::Member(Participation::join(&sharing, &session).await?);
            Ok(())
        })
    }

    async fn next_won(&self, ended: &Ended, call: &mut Call) -> Result<Partition> {
        loop {
            let mut news = std::pin::pin!(self.sharing.news.notified());
            news.as_mut().enable();
            if let Some(error) = ended.borrow().clone() {
                return Err(error);
            }
            match self.sharing.next_won() {
                Some(held) if held.stands() => {
                    // Who has a partition stays a member, also without the handle.
                    held.hold().keep(Box::new(self.clone()));
                    return Ok(held);
                }
                Some(_) => {}
                None if call.is_single_attempt() => return Err(Error::timeout(NOTHING_WON)),
                None => call.wait_for(news).await?,
            }
        }
    }

    /// Lets `work` work on each partition for as long as this member has it, all at the same time, until it leaves or a failure that
    /// trying again cannot help.
    ///
    /// The future that `work` made for a partition is dropped when that is lost, not when it lets go of it itself. When it is
    /// asked to move, [`Held::on_revoke`] tells, and it has the time for draining. What ends lets go of its partition; as long as
    /// that is this member's, it is begun again, after a pause. An error of it is logged.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let imports = client.partitioner("/partitions/imports", ["a", "b"], Default::default())?;
    /// let leaving = imports.clone();
    /// tokio::spawn(async move {
    ///     tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    ///     leaving.leave().await
    /// });
    /// imports
    ///     .run(|partition| async move {
    ///         println!("working on {} with token {}", partition.name(), partition.fencing_token());
    ///         let (moves, asked) = tokio::sync::oneshot::channel::<()>();
    ///         let _asks = partition.on_revoke(move || drop(moves));
    ///         let _ = asked.await;
    ///         Ok::<(), zkrecipes::Error>(())
    ///     })
    ///     .await?;
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future drops those of `work`, lets go of their partitions and leaves, in the background.
    pub async fn run<F, W, E>(&self, mut work: F) -> Result<()>
    where
        F: FnMut(Partition) -> W,
        W: Future<Output = Result<(), E>>,
        E: Display,
    {
        let session = self.sharing.client.session()?;
        let mut call = session.wait(None);
        // Dropped before it is over, while it joins too, it leaves: nobody would work on what is won then.
        let mut leaving = LeavingInBackground(Some(self.clone()));
        let ended = match self.joined(&session, &mut call).await {
            Ok(ended) => ended,
            Err(error) => {
                leaving.0 = None;
                let is_cancelled = error.kind() == ErrorKind::Cancelled;
                return if is_cancelled { Ok(()) } else { Err(error.with_path(self.path())) };
            }
        };
        let mut bodies = FuturesUnordered::new();
        let end = loop {
            let won = tokio::select! {
                biased;
                Some(()) = bodies.next() => continue,
                won = self.next_won(&ended, &mut call) => won,
            };
            match won {
                Ok(partition) => {
                    let working = work(partition.clone());
                    bodies.push(async move {
                        tokio::select! {
                            biased;
                            _ = partition.lost() => {}
                            outcome = working => {
                                if let Err(error) = outcome {
                                    tell_failed(&partition, &error);
                                }
                                // Lost, there is nothing to do; unconfirmed, it goes on in the background.
                                let _ = partition.release().await;
                            }
                        }
                    });
                }
                Err(error) if error.kind() == ErrorKind::Cancelled => break Ok(()),
                Err(error) => break Err(error.with_path(self.path())),
            }
        };
        // All is let go of or lost by now, so that each of them has ended.
        while bodies.next().await.is_some() {}
        leaving.0 = None;
        end
    }

    /// Takes part no more: what it has is asked for, and taken from it after the time for draining. Answers when all is let go
    /// of; so work on a partition that calls it waits for itself, and has to let go of that first. For another time take another
    /// handle. NotHeld if it is no member.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it to the background.
    pub async fn leave(&self) -> Result<()> {
        let session = self.sharing.client.session()?;
        let left = {
            let mut place = session.behind_others(self.membership.lock()).await?;
            match std::mem::take(&mut *place) {
                Attendance::Member(membership) => {
                    *place = Attendance::Left;
                    Some(membership)
                }
                other => {
                    *place = other;
                    None
                }
            }
        };
        match left {
            Some(membership) => membership.leave().await,
            None => {
                let message = "not held: this is no member; call next or run first";
                Err(Error::new(ErrorKind::NotHeld, message).with_path(self.path()))
            }
        }
    }

    /// Who has which partition now, no older than this call: by partition the identity of its owner, `None` for one that nobody has.
    /// Of a partition whose nodes may not be read somebody is the owner, without a name.
    pub async fn owners(&self) -> Result<BTreeMap<String, Option<String>>> {
        let session = self.sharing.client.session()?;
        let partitions = 0..self.sharing.partitions.len();
        let (session, beginning) = (&session, &Beginning::default());
        let asked = partitions.map(|partition| {
            let mut call = session.call(None).reading();
            async move {
                let path = self.sharing.path_of(partition);
                let first = contenders::first_since(&mut call, &path, Kind::Lock, Some(beginning));
                let identity = match first.await {
                    Ok(owner) => owner.map(|owner| owner.identity),
                    Err(failure) if failure.is(&WireError::NoNode) => None,
                    // And not a client whose credentials are refused.
                    Err(failure) if failure.is(&WireError::NoAuth) => {
                        session.skip(&path, Flaw::Denied);
                        // Whoever has it, somebody may, as for who follows.
                        Some(String::new())
                    }
                    Err(failure) => return Err(failure.about("owners", &path)),
                };
                let identity =
                    identity.map(|said| if said.as_bytes() == REVOKE { String::new() } else { said });
                Ok((self.sharing.partitions[partition].clone(), identity))
            }
        });
        join_all(asked).await.into_iter().collect()
    }

    /// The same now, and whenever a partition has another owner: always the latest. A change costs one or two requests, however
    /// many partitions there are.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let imports = client.partitioner("/partitions/imports", ["eu"], Default::default())?;
    /// let mut owners = imports.watch();
    /// assert_eq!(owners.next().await.transpose()?.expect("it goes on")["eu"], None);
    /// let won = imports.next(None).await?;
    /// assert!(owners.next().await.transpose()?.expect("it goes on")["eu"].is_some());
    /// # drop(won);
    /// # imports.leave().await?;
    /// # Ok(()) });
    /// ```
    pub fn watch(&self) -> Feed<BTreeMap<String, Option<String>>> {
        let Sharing { client, path, partitions, .. } = &*self.sharing;
        owners::feed(client.session(), path, Some(partitions))
    }

    /// Who shares the partitions now, no older than this call: by name, with their weights.
    pub async fn members(&self) -> Result<BTreeMap<String, u32>> {
        let session = self.sharing.client.session()?;
        let path = self.sharing.below(MEMBERS);
        let members = membership::members(&mut session.call(None).reading(), &path, LISTING).await?;
        Ok(sharing::weights(members.iter()))
    }
}

/// Leaves when it is dropped.
struct LeavingInBackground(Option<Partitioner>);

impl Drop for LeavingInBackground {
    fn drop(&mut self) {
        if let Some(partitioner) = self.0.take()
            && let Ok(session) = partitioner.sharing.client.session()
        {
            // It may have left.
            session.clock().spawn(Box::pin(async move { drop(partitioner.leave().await) }));
        }
    }
}

/// What it is done with begins again, as long as it is ours.
pub(crate) fn tell_failed(partition: &Partition, error: &dyn Display) {
    let path = partition.path();
    tracing::warn!(target: "zkrecipes", event = "partition_failed", path, %error, "the work on a partition failed; it is begun again");
}

impl fmt::Debug for Partitioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitioner")
            .field("path", &self.path())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
