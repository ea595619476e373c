//! What two-phase commit hands over: transactions, proposals, and how they stand.

use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;

use zkrecipes::drive::{Begun, Proposed};
use zkrecipes::{
    Client, CommitMode, CommitStatus, CommitTransaction, CoordinatorState, Outcome, Proposal, Result,
};

use crate::answers::{Fill, Handed, Report};
use crate::client::to_millis;
use crate::collections::{List, Several, Texts};
use crate::error::{zkr_error, zkr_status};
use crate::events::Listener;
use crate::handle::Object;
use crate::input::{Place, to_c};
use crate::lists::{CommitStatuses, CommitTransactions, Proposals};
use crate::options::choice;
use crate::verbs::Holder;

#[path = "generated/commit_transaction.rs"]
mod commit_transaction;

#[path = "generated/proposal.rs"]
mod proposal;

/// Who decides a transaction before its deadline.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_commit_mode {
    // --- generated from api: values of CommitMode
    /// The coordinator, while it waits for the outcome.
    ZKR_COMMIT_MODE_COORDINATOR = 0,
    /// The site whose vote is the last.
    ZKR_COMMIT_MODE_PEER = 1,
    // --- end of generated
}

/// A zkr_commit_mode from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenCommitMode(i32);

/// What a transaction came to.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub enum zkr_outcome {
    // --- generated from api: values of Decision
    /// Nothing is decided.
    #[default]
    ZKR_OUTCOME_NONE = 0,
    /// All sites do it.
    ZKR_OUTCOME_COMMIT = 1,
    /// None does.
    ZKR_OUTCOME_ABORT = 2,
    // --- end of generated
}

/// A zkr_outcome from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenOutcome(i32);

/// What is known of a coordinator.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_coordinator_state {
    // --- generated from api: values of CoordinatorState
    /// It is there.
    ZKR_COORDINATOR_STATE_PRESENT = 0,
    /// It died; zkr_two_phase_commit_recover takes its transactions over.
    ZKR_COORDINATOR_STATE_ABSENT = 1,
    /// It knows what was decided.
    ZKR_COORDINATOR_STATE_DONE = 2,
    // --- end of generated
}

/// A zkr_coordinator_state from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenCoordinatorState(i32);

/// The name of a mode, the same in every language of zkrecipes: "coordinator", "peer".
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_mode_name(mode: GivenCommitMode) -> *const c_char {
    let name = match mode.0 {
        // --- generated from api: names of CommitMode
        0 => c"coordinator",
        1 => c"peer",
        // --- end of generated
        _ => c"unknown",
    };
    name.as_ptr()
}

/// The name of an outcome, the same in every language of zkrecipes: "commit", "abort"; "none" for ZKR_OUTCOME_NONE.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_outcome_name(outcome: GivenOutcome) -> *const c_char {
    let name = match outcome.0 {
        // --- generated from api: names of Decision
        0 => c"none",
        1 => c"commit",
        2 => c"abort",
        // --- end of generated
        _ => c"unknown",
    };
    name.as_ptr()
}

/// The name of a coordinator's state, the same in every language of zkrecipes: "present", "absent", "done".
#[unsafe(no_mangle)]
pub extern "C" fn zkr_coordinator_state_name(state: GivenCoordinatorState) -> *const c_char {
    let name = match state.0 {
        // --- generated from api: names of CoordinatorState
        0 => c"present",
        1 => c"absent",
        2 => c"done",
        // --- end of generated
        _ => c"unknown",
    };
    name.as_ptr()
}

pub(crate) fn mode(given: GivenCommitMode) -> Result<CommitMode> {
    use zkr_commit_mode::*;
    Ok(match choice("mode", given.0, &[ZKR_COMMIT_MODE_COORDINATOR, ZKR_COMMIT_MODE_PEER])? {
        ZKR_COMMIT_MODE_COORDINATOR => CommitMode::Coordinator,
        ZKR_COMMIT_MODE_PEER => CommitMode::Peer,
    })
}

impl From<CommitMode> for zkr_commit_mode {
    fn from(mode: CommitMode) -> zkr_commit_mode {
        match mode {
            CommitMode::Peer => zkr_commit_mode::ZKR_COMMIT_MODE_PEER,
            // A mode added to the core gets its number here.
            _ => zkr_commit_mode::ZKR_COMMIT_MODE_COORDINATOR,
        }
    }
}

impl From<Outcome> for zkr_outcome {
    fn from(outcome: Outcome) -> zkr_outcome {
        match outcome {
            Outcome::Commit => zkr_outcome::ZKR_OUTCOME_COMMIT,
            Outcome::Abort => zkr_outcome::ZKR_OUTCOME_ABORT,
        }
    }
}

impl From<CoordinatorState> for zkr_coordinator_state {
    fn from(state: CoordinatorState) -> zkr_coordinator_state {
        match state {
            CoordinatorState::Present => zkr_coordinator_state::ZKR_COORDINATOR_STATE_PRESENT,
            CoordinatorState::Absent => zkr_coordinator_state::ZKR_COORDINATOR_STATE_ABSENT,
            CoordinatorState::Done => zkr_coordinator_state::ZKR_COORDINATOR_STATE_DONE,
        }
    }
}

// ---- what was decided

/// The end of waiting for what is decided; ZKR_OUTCOME_NONE if the status is not ZKR_OK. The error is only lent.
pub type zkr_outcome_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        outcome: zkr_outcome,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

impl Fill<Outcome> for Place<zkr_outcome> {
    fn fill(self, _: &Client, found: Outcome) -> Result<()> {
        self.put(found.into());
        Ok(())
    }
}

impl Report<Outcome> for unsafe extern "C" fn(zkr_status, zkr_outcome, *const zkr_error, *mut c_void) {
    fn report(listener: Listener<Self>, _: &Client, outcome: Result<Outcome>) {
        // SAFETY: a function of this type, as the caller gave it.
        listener.report(outcome, Ok, |function, status, decided, error, data| unsafe {
            function(status, decided.map(zkr_outcome::from).unwrap_or_default(), error, data);
        });
    }
}

// ---- transactions and proposals

/// A transaction that a coordinator has begun or taken over.
pub struct zkr_commit_transaction {
    _opaque: [u8; 0],
}

/// The end of beginning. On ZKR_OK the transaction belongs to the callback, otherwise it is NULL; the error is only lent.
pub type zkr_commit_transaction_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        transaction: *mut zkr_commit_transaction,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// A transaction on which a site has to vote.
pub struct zkr_proposal {
    _opaque: [u8; 0],
}

/// The end of waiting for a proposal. On ZKR_OK it belongs to the callback, otherwise it is NULL; the error is only lent.
pub type zkr_proposal_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        proposal: *mut zkr_proposal,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// A transaction, as its coordinator or one of its sites has it.
pub(crate) struct Part<C> {
    client: Client,
    core: C,
    id: CString,
    /// With a NUL that does not count.
    payload: Vec<u8>,
    /// As it was asked for first, so that it stays where it is.
    reason: OnceLock<CString>,
}

impl<C> Part<C> {
    fn new(client: &Client, id: &str, payload: &[u8], core: &C) -> Part<C>
    where
        C: Clone,
    {
        let (id, payload, reason) = (to_c(id), [payload, &[0]].concat(), OnceLock::new());
        Part { client: client.clone(), core: core.clone(), id, payload, reason }
    }

    fn reason(&self, reason: &str) -> *const c_char {
        match reason {
            // It may be known later.
            "" => c"".as_ptr(),
            reason => self.reason.get_or_init(|| to_c(reason)).as_ptr(),
        }
    }
}

impl<C> Holder for Part<C>
where
    Part<C>: Object,
{
    fn client(&self) -> &Client {
        &self.client
    }
}

pub(crate) type CommitTransactionHandle = Part<CommitTransaction>;

impl CommitTransactionHandle {
    fn of(client: &Client, core: &CommitTransaction) -> CommitTransactionHandle {
        Part::new(client, core.id(), core.payload(), core)
    }
}

impl Object for CommitTransactionHandle {
    type Opaque = zkr_commit_transaction;
    const NAME: &'static str = "zkr_commit_transaction";
}

impl Handed for Begun {
    type Object = CommitTransactionHandle;

    fn object(self, client: &Client) -> CommitTransactionHandle {
        CommitTransactionHandle::of(client, &self.hand_over())
    }
}

impl Handed for Vec<CommitTransaction> {
    type Object = CommitTransactions;

    fn object(self, client: &Client) -> CommitTransactions {
        Several::new(self.iter().map(|one| CommitTransactionHandle::of(client, one)))
    }
}

pub(crate) type ProposalHandle = Part<Proposal>;

impl ProposalHandle {
    fn of(client: &Client, core: &Proposal) -> ProposalHandle {
        Part::new(client, core.id(), core.payload(), core)
    }
}

impl Object for ProposalHandle {
    type Opaque = zkr_proposal;
    const NAME: &'static str = "zkr_proposal";
}

impl Handed for Proposed {
    type Object = ProposalHandle;

    fn object(self, client: &Client) -> ProposalHandle {
        ProposalHandle::of(client, &self.hand_over())
    }
}

impl Handed for Vec<Proposal> {
    type Object = Proposals;

    fn object(self, client: &Client) -> Proposals {
        Several::new(self.iter().map(|one| ProposalHandle::of(client, one)))
    }
}

// ---- how they stand

/// What is known of a site in one transaction.
#[repr(C)]
pub struct zkr_site_status {
    /// Its name.
    pub site: *const c_char,
    /// Whether it is there.
    pub is_present: bool,
    /// Whether it has voted.
    pub has_voted: bool,
    /// Whether it has done what was decided.
    pub has_acknowledged: bool,
}

/// How a transaction stands.
#[repr(C)]
pub struct zkr_commit_status {
    /// By which name it began.
    pub id: *const c_char,
    /// What it is about, followed by a NUL that does not count; never NULL.
    pub payload: *const c_void,
    pub size: usize,
    /// Who votes.
    pub sites: *const zkr_site_status,
    pub site_count: usize,
    /// Why it was aborted; never NULL.
    pub reason: *const c_char,
    /// How long ago it began, as far as this machine's clock agrees with the server's.
    pub age_ms: i64,
    /// How long there is to vote.
    pub timeout_ms: i64,
    /// Who decides it before its deadline.
    pub mode: zkr_commit_mode,
    /// What was decided.
    pub outcome: zkr_outcome,
    /// Whether its coordinator will decide it.
    pub coordinator: zkr_coordinator_state,
    /// Why only its id is known: it may not be read with the identities of this client, or what it says is not understood. Empty
    /// if it is known how it stands; never NULL.
    pub problem: *const c_char,
}

impl Handed for Vec<CommitStatus> {
    type Object = CommitStatuses;

    fn object(self, _: &Client) -> CommitStatuses {
        List::new(&self, status)
    }
}

fn status(found: &CommitStatus, texts: &mut Texts) -> zkr_commit_status {
    let sites = found.sites.iter().map(|one| zkr_site_status {
        site: texts.keep(&one.site),
        is_present: one.is_present,
        has_voted: one.has_voted,
        has_acknowledged: one.has_acknowledged,
    });
    let sites = sites.collect();
    zkr_commit_status {
        id: texts.keep(&found.id),
        payload: texts.keep_bytes(&found.payload),
        size: found.payload.len(),
        sites: texts.keep_list(sites),
        site_count: found.sites.len(),
        reason: texts.keep(&found.reason),
        age_ms: to_millis(found.age),
        timeout_ms: to_millis(found.timeout),
        mode: found.mode.into(),
        outcome: found.outcome.map(zkr_outcome::from).unwrap_or_default(),
        coordinator: found.coordinator.into(),
        problem: texts.keep(&found.problem),
    }
}
