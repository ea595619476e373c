//! Generated from api/election.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::Result;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::contenders::zkr_wait_callback;
use crate::error::zkr_error;
use crate::events::{
    zkr_answer_callback, zkr_done_callback, zkr_lost_callback, zkr_revoke_callback, zkr_subscription,
};
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, Place, to_c};
use crate::lists::{zkr_contenders, zkr_contenders_callback};
use crate::options;
use crate::options::choice;
use crate::sized::SelfSized;
use crate::status::zkr_status;
use crate::transaction::zkr_transaction;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// One candidate in the election of a leader. What it wins is a zkr_leadership; zkr_election_release,
/// zkr_election_is_held and their like speak of the one won last.
pub struct zkr_election {
    _opaque: [u8; 0],
}

pub(crate) type ElectionHandle = Recipe<zkrecipes::Election>;

impl Object for ElectionHandle {
    type Opaque = zkr_election;
    const NAME: &'static str = "zkr_election";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Whose election it takes part in where the naming is Curator's.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_election_layout {
    /// Curator's LeaderLatch.
    ZKR_ELECTION_LAYOUT_LATCH = 0,
    /// Curator's LeaderSelector.
    ZKR_ELECTION_LAYOUT_SELECTOR = 1,
}

/// A zkr_election_layout from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenElectionLayout(i32);

/// How an election behaves. Start from ZKR_ELECTION_OPTIONS_INIT, which has the defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_election_options {
    /// sizeof(zkr_election_options), as ZKR_ELECTION_OPTIONS_INIT sets it.
    pub size: usize,
    /// Whose election it takes part in: Curator's LeaderLatch (ZKR_ELECTION_LAYOUT_LATCH) or LeaderSelector
    /// (ZKR_ELECTION_LAYOUT_SELECTOR). kazoo has one layout of its own, which naming chooses. Unless told:
    /// ZKR_ELECTION_LAYOUT_LATCH.
    pub layout: GivenElectionLayout,
    /// Zero.
    pub reserved: u32,
    /// How much it is to lead: of all who stand the one with the highest priority. A leader with a lower one is asked to
    /// hand over. Peers that know of no priorities stand in the order in which they came, as those of one priority do.
    pub priority: i32,
    /// Zero.
    pub reserved_2: u32,
    /// How long the work of a term of run may go on that somebody has asked for, such as a candidate with a higher
    /// priority. Then the leadership is lost. Unless told: 1,000.
    pub drain_ms: i64,
}

impl SelfSized for zkr_election_options {
    const INIT: &'static str = "ZKR_ELECTION_OPTIONS_INIT";
    const LEAST: usize = std::mem::offset_of!(zkr_election_options, reserved) + size_of::<u32>();
    const NAMED_OTHERWISE: &'static [(&'static str, &'static str)] = &[("drain", "drain_ms")];

    fn defaults() -> zkr_election_options {
        zkr_election_options {
            size: size_of::<zkr_election_options>(),
            layout: GivenElectionLayout(0),
            reserved: 0,
            priority: 0,
            reserved_2: 0,
            drain_ms: 1_000,
        }
    }

    fn reserved(&self) -> Vec<u8> {
        [&self.reserved.to_ne_bytes()[..], &self.reserved_2.to_ne_bytes()[..]].concat()
    }
}

impl zkr_election_options {
    pub(crate) fn convert(&self) -> Result<zkrecipes::ElectionOptions> {
        let mut options = zkrecipes::ElectionOptions::default();
        options.layout = match choice(
            "layout",
            self.layout.0,
            &[
                zkr_election_layout::ZKR_ELECTION_LAYOUT_LATCH,
                zkr_election_layout::ZKR_ELECTION_LAYOUT_SELECTOR,
            ],
        )? {
            zkr_election_layout::ZKR_ELECTION_LAYOUT_LATCH => zkrecipes::ElectionLayout::Latch,
            zkr_election_layout::ZKR_ELECTION_LAYOUT_SELECTOR => zkrecipes::ElectionLayout::Selector,
        };
        options.priority = self.priority;
        options.drain = input::millis("drain_ms", self.drain_ms)?;

        Ok(options)
    }
}
/// Resigns: the next candidate leads. From the call on this one counts as not leading.
///
/// ZKR_NOT_HELD if nothing is held. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
/// the background until it does or the session has ended.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_release(
    election: *mut zkr_election,
    error: *mut *mut zkr_error,
) -> zkr_status {
    election_release(election, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_election_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_release_async(
    election: *mut zkr_election,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    election_release(election, Way::Starts { token: null(), callback, user_data })
}

fn election_release(election: *const zkr_election, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(election, way, |it: &ElectionHandle| Ok(it.core.release()))
}

/// The same, with the confirmation left to the background: never blocks, fit for destructors and callbacks.
/// ZKR_NOT_HELD if nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_release_in_background(
    election: *mut zkr_election,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(election, error, || Ok(()), |it: &ElectionHandle| it.core.release_in_background())
}

/// Whether the leadership is certainly held through this handle at this moment: a comparison of clocks, no request.
/// Never true again for an acquisition once lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_is_held(election: *const zkr_election) -> bool {
    verbs::ask(election, false, |it: &ElectionHandle| Some(it.core.is_held()))
}

/// The epoch of the leadership; 0, which is never one, while this candidate does not lead.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_fencing_token(election: *const zkr_election) -> u64 {
    verbs::ask(election, 0, |it: &ElectionHandle| it.core.fencing_token().ok())
}

/// Asks the server whether the leadership is held. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be
/// known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_verify(election: *mut zkr_election, error: *mut *mut zkr_error) -> zkr_status {
    election_verify(election, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_election_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_verify_async(
    election: *mut zkr_election,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    election_verify(election, Way::Starts { token: null(), callback, user_data })
}

fn election_verify(election: *const zkr_election, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(election, way, |it: &ElectionHandle| {
        let core = it.core.clone();
        Ok(async move { core.verify().await })
    })
}

/// A transaction that the server applies only while the leadership stands. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_guarded(
    election: *mut zkr_election,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        election,
        error,
        || HandlePlace::required("transaction", transaction),
        |it: &ElectionHandle| it.core.guarded(),
    )
}

/// Calls back once when the leadership is lost, at once if it already is, never on its own release. subscription may be
/// NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_on_lost(
    election: *mut zkr_election,
    callback: zkr_lost_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(election, callback, user_data, subscription, error, |it: &ElectionHandle, told| {
        it.core.on_lost(move |found| told.tell(found))
    })
}

/// Calls back once when somebody asks for what is held now (zkr_election_revoke), at once if somebody already has:
/// finish, then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with
/// zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_on_revoke(
    election: *mut zkr_election,
    callback: zkr_revoke_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(election, callback, user_data, subscription, error, |it: &ElectionHandle, told| {
        it.core.on_revoke(move || told.tell(()))
    })
}

/// Calls back while an acquisition through this handle waits: after a second, and then ever less often, up to once a
/// minute. Each time it is looked who holds, which is one read in general. subscription may be NULL; otherwise end it
/// with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_on_wait(
    election: *mut zkr_election,
    callback: zkr_wait_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(election, callback, user_data, subscription, error, |it: &ElectionHandle, told| {
        it.core.on_wait(move |found| told.tell(found))
    })
}

/// Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_cancel(election: *mut zkr_election, error: *mut *mut zkr_error) -> zkr_status {
    verbs::now(
        election,
        error,
        || Ok(()),
        |it: &ElectionHandle| {
            it.core.cancel();
            Ok(())
        },
    )
}

/// All who stand, in the order in which they will lead: as zkr_election_candidates. On success *contenders belongs to
/// the caller: free it with zkr_contenders_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_contenders(
    election: *mut zkr_election,
    contenders: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    election_contenders(
        election,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("contenders", contenders) },
    )
}

/// zkr_election_contenders in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_contenders_async(
    election: *mut zkr_election,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    election_contenders(election, Way::Starts { token: null(), callback, user_data })
}

fn election_contenders(
    election: *const zkr_election,
    way: Way<'_, HandlePlace<zkr_contenders>, zkr_contenders_callback>,
) -> zkr_status {
    verbs::call(election, way, |it: &ElectionHandle| {
        let core = it.core.clone();
        Ok(async move { core.contenders().await })
    })
}

/// Asks the leader to resign, or the candidate whose node is named as in a zkr_contender (NULL: the leader), which
/// moves behind all others if it does not lead, and otherwise hears of it through zkr_held_on_revoke and lets go when
/// it can. force_after_ms, asked and ZKR_INVALID are as for zkr_lock_revoke.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_revoke(
    election: *mut zkr_election,
    contender: *const c_char,
    force_after_ms: i64,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_election_revoke_cancellable(election, contender, force_after_ms, null_mut(), asked, error)
}

/// zkr_election_revoke that another thread can withdraw; token may be NULL. Withdrawn while it waits, it has asked, but
/// deletes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_revoke_cancellable(
    election: *mut zkr_election,
    contender: *const c_char,
    force_after_ms: i64,
    token: *mut zkr_cancel_token,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    election_revoke(
        election,
        contender,
        force_after_ms,
        Way::Waits { token, error, place: &|| Ok(Place::optional(asked)) },
    )
}

/// zkr_election_revoke in the background; the answer is whether there was anybody to ask. ZKR_OK says that the callback
/// will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_revoke_async(
    election: *mut zkr_election,
    contender: *const c_char,
    force_after_ms: i64,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_election_revoke_cancellable_async(
        election,
        contender,
        force_after_ms,
        null_mut(),
        callback,
        user_data,
    )
}

/// zkr_election_revoke_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_revoke_cancellable_async(
    election: *mut zkr_election,
    contender: *const c_char,
    force_after_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    election_revoke(election, contender, force_after_ms, Way::Starts { token, callback, user_data })
}

fn election_revoke(
    election: *const zkr_election,
    contender: *const c_char,
    force_after_ms: i64,
    way: Way<'_, Place<bool>, zkr_answer_callback>,
) -> zkr_status {
    verbs::call(election, way, |it: &ElectionHandle| {
        let core = it.core.clone();
        let contender = input::optional_text("contender", contender)?;
        let force_after_ms = time::from_millis("force_after_ms", force_after_ms);
        Ok(async move { core.revoke(contender.as_deref(), force_after_ms).await })
    })
}

/// Makes a handle of an election, for a candidate that says data to whoever asks for the leader. Validates, but sends
/// nothing. options may be NULL for the defaults. On success *election belongs to the caller: free it with
/// zkr_election_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_new(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    options: *const zkr_election_options,
    election: *mut *mut zkr_election,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("election", election),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let data = input::bytes("data", data, size)?;
            let options = options::read(options)?.convert()?;
            let core = it.core.election(&path, &data, options)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees an election. Campaigns in progress on it end with ZKR_CANCELLED, and so does zkr_election_run. If it leads, it
/// resigns in the background, unless a zkr_leadership of it is still around, which owns it from then on. Never blocks.
/// NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_free(election: *mut zkr_election) {
    verbs::free(election, |it: &ElectionHandle| it.core.cancel());
}

/// The path of the election; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_path(election: *const zkr_election) -> *const c_char {
    verbs::ask(election, null(), |it: &ElectionHandle| Some(it.path.as_ptr()))
}
