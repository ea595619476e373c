//! What an election hands over: leaderships, and who leads.

use std::ffi::{CString, c_void};
use std::time::Duration;

use zkrecipes::drive::{self, Granted};
use zkrecipes::{Client, Election, Leader, Leadership, Result};

use crate::answers::{Fill, Handed, Report, Tell};
use crate::error::{zkr_error, zkr_status};
use crate::events::Listener;
use crate::handle::{self, Object};
use crate::held::Texts;
use crate::input::{HandlePlace, to_c};
use crate::verbs::Holder;

#[path = "generated/leadership.rs"]
mod leadership;

#[path = "generated/leader.rs"]
mod leader;

/// One term of a leader, which never comes to mean another one. It lasts until it is released or lost, or until both it and
/// the election that it came from are freed; one of zkr_election_run until it is freed itself.
pub struct zkr_leadership {
    _opaque: [u8; 0],
}

pub(crate) struct LeadershipHandle {
    core: Leadership,
    texts: Texts,
}

impl LeadershipHandle {
    fn new(core: Leadership) -> LeadershipHandle {
        LeadershipHandle { core, texts: Texts::default() }
    }
}

impl Object for LeadershipHandle {
    type Opaque = zkr_leadership;
    const NAME: &'static str = "zkr_leadership";
}

impl Holder for LeadershipHandle {
    fn client(&self) -> &Client {
        drive::client_of(&self.core)
    }
}

/// The end of campaigning, and each term of zkr_election_run. On ZKR_OK the leadership belongs to the callback, otherwise it
/// is NULL; the error is only lent.
pub type zkr_leadership_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        leadership: *mut zkr_leadership,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// A leadership on its way to its owner.
pub(crate) struct Won(Granted);

impl Handed for Won {
    type Object = LeadershipHandle;

    fn object(self, _: &Client) -> LeadershipHandle {
        LeadershipHandle::new(drive::leadership(self.0.keep()))
    }
}

type OfLeadership = unsafe extern "C" fn(zkr_status, *mut zkr_leadership, *const zkr_error, *mut c_void);

impl Tell<Result<Leadership>> for OfLeadership {
    fn tell(listener: Listener<Self>, told: Result<Leadership>) {
        listener.report(
            told,
            |term| handle::publish(LeadershipHandle::new(term)),
            // SAFETY: a function of this type, as the caller gave it.
            |function, status, term, error, data| unsafe {
                function(status, term.unwrap_or(std::ptr::null_mut()), error, data);
            },
        );
    }
}

/// Stands, and waits for the leadership.
pub(crate) fn campaign(
    election: &Election,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Won>> + Send + use<> {
    let winning = drive::acquire(election, 1, limit);
    async move { winning.await.map(Won) }
}

/// Who leads an election. In a forked child, one of the parent is a handle that cannot be used.
pub struct zkr_leader {
    _opaque: [u8; 0],
}

pub(crate) struct LeaderHandle {
    core: Leader,
    identity: CString,
    /// With a NUL that does not count.
    data: Vec<u8>,
}

impl LeaderHandle {
    fn of(core: Leader) -> LeaderHandle {
        LeaderHandle { identity: to_c(&core.identity), data: [&*core.data, &[0]].concat(), core }
    }
}

impl Object for LeaderHandle {
    type Opaque = zkr_leader;
    const NAME: &'static str = "zkr_leader";
}

/// Who leads, NULL while nobody does: the end of asking, and every change while an election is observed. A status other than
/// ZKR_OK is the end: the error says why. leader and error are only lent for the callback.
pub type zkr_leader_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        leader: *const zkr_leader,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

type OfLeader = unsafe extern "C" fn(zkr_status, *const zkr_leader, *const zkr_error, *mut c_void);

impl Fill<Option<Leader>> for HandlePlace<zkr_leader> {
    fn fill(self, _: &Client, found: Option<Leader>) -> Result<()> {
        found.map_or(Ok(()), |leader| self.put(|| handle::publish(LeaderHandle::of(leader))))
    }
}

impl Tell<Result<Option<Leader>>> for OfLeader {
    fn tell(listener: Listener<Self>, told: Result<Option<Leader>>) {
        listener.report(
            told,
            |found| found.map(|leader| handle::publish(LeaderHandle::of(leader))).transpose(),
            |function, status, found, error, data| {
                let leader = found.flatten().unwrap_or(std::ptr::null_mut());
                // SAFETY: a function of this type, as the caller gave it.
                unsafe { function(status, leader, error, data) };
                drop(handle::take::<LeaderHandle>(leader));
            },
        );
    }
}

impl Report<Option<Leader>> for OfLeader {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<Option<Leader>>) {
        Tell::tell(listener, outcome);
    }
}
