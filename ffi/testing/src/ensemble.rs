//! The ensemble.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use zkrecipes::{Error, Result};
use zkrecipes_embedded::Ensemble;

use crate::error::{zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, HandlePlace, to_c};
use crate::server::{self, ServerHandle, zkr_test_server, zkr_test_server_options};
use crate::verbs::{self, Running, trouble};

/// Several servers that are one ensemble, with followers that lag and can be cut off, as real ones do. Member 0 leads.
/// A follower answers reads and pings by itself from what it knows so far, and passes writes on to the leader.
pub struct zkr_test_ensemble {
    _opaque: [u8; 0],
}

struct EnsembleHandle {
    ensemble: Ensemble,
    members: Vec<CString>,
    server: Whole,
}

/// The handle of all members together, a number that C gets again and again.
struct Whole(*mut zkr_test_server);

// SAFETY: handles are no addresses; any thread may use them.
unsafe impl Send for Whole {}
unsafe impl Sync for Whole {}

impl Object for EnsembleHandle {
    type Opaque = zkr_test_ensemble;
    const NAME: &'static str = "zkr_test_ensemble";
}

impl Drop for EnsembleHandle {
    fn drop(&mut self) {
        drop(handle::take::<ServerHandle>(self.server.0));
    }
}

fn get(ensemble: *const zkr_test_ensemble) -> Result<Arc<EnsembleHandle>> {
    verbs::get(ensemble)
}

// Each has a port of its own.
const MOST_MEMBERS: usize = 99;

/// Starts so many servers as one ensemble. options may be NULL for the defaults; their port is the first member's, the
/// others take free ones. On success *ensemble belongs to the caller: zkr_test_ensemble_free ends it.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_start(
    members: usize,
    options: *const zkr_test_server_options,
    ensemble: *mut *mut zkr_test_ensemble,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("ensemble", ensemble)?;
        if !(1..=MOST_MEMBERS).contains(&members) {
            return Err(Error::invalid(
                "members",
                format_args!("{members} cannot be; give 1 to {MOST_MEMBERS}"),
            ));
        }
        let started = server::builder(options)?.start_ensemble(members);
        let ensemble = started.map_err(|cause| trouble("test ensemble", "start", cause))?;
        let members = (0..members).filter_map(|member| Some(to_c(&ensemble.member(member)?))).collect();
        let server = Whole(handle::publish(Running::new(ensemble.server().clone(), true))?);
        place.put(|| handle::publish(EnsembleHandle { ensemble, members, server }))
    })
}

/// Ends an ensemble and forgets its data. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_free(ensemble: *mut zkr_test_ensemble) {
    guard::quietly(|| drop(handle::take::<EnsembleHandle>(ensemble)));
}

/// All members at once, for everything that a server can do: its connect string names all of them, stopping stops all
/// of them. NULL for a handle that cannot be used. It is a part of the ensemble and goes with it: there is nothing to
/// free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_server(ensemble: *const zkr_test_ensemble) -> *mut zkr_test_server {
    guard::answer(std::ptr::null_mut(), || Some(get(ensemble).ok()?.server.0))
}

/// How many members there are; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_size(ensemble: *const zkr_test_ensemble) -> usize {
    guard::answer(0, || Some(get(ensemble).ok()?.members.len()))
}

/// What clients of one member connect to, or NULL past the end. Valid until the ensemble is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_member(
    ensemble: *const zkr_test_ensemble,
    member: usize,
) -> *const c_char {
    guard::answer(std::ptr::null(), || Some(get(ensemble).ok()?.members.get(member)?.as_ptr()))
}

/// Sets how late a follower learns of transactions, and of answers to what it passed on. ZKR_INVALID if there is no such
/// follower.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_lag(
    ensemble: *mut zkr_test_ensemble,
    follower: usize,
    ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let by = input::millis("ms", ms)?;
        known(follower, get(ensemble)?.ensemble.lag(follower, by))
    })
}

/// Keeps everything from a follower until zkr_test_ensemble_release: its clients get no answers to writes, and old ones to
/// reads.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_hold(
    ensemble: *mut zkr_test_ensemble,
    follower: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || known(follower, get(ensemble)?.ensemble.hold(follower)))
}

/// Lets a follower catch up.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_release(
    ensemble: *mut zkr_test_ensemble,
    follower: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || known(follower, get(ensemble)?.ensemble.release(follower)))
}

/// Cuts a follower off from the leader. It goes on answering reads and pings, but its clients' sessions may expire; after
/// five ticks it sends them away, until zkr_test_ensemble_heal. ZKR_INVALID if there is no such follower, or the leader
/// would be left without a majority.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_isolate(
    ensemble: *mut zkr_test_ensemble,
    follower: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || match get(ensemble)?.ensemble.isolate(follower) {
        true => Ok(()),
        false => Err(Error::invalid(
            "follower",
            format_args!("{follower} is none that can be cut off: the leader is 0, and it needs a majority"),
        )),
    })
}

/// Connects a follower again: it learns what it missed. ZKR_INVALID if it was not cut off.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_heal(
    ensemble: *mut zkr_test_ensemble,
    follower: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || match get(ensemble)?.ensemble.heal(follower) {
        true => Ok(()),
        false => Err(Error::invalid("follower", format_args!("{follower} is not cut off"))),
    })
}

/// How many transactions a member is behind the leader; 0 for one that there is not.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_ensemble_behind(ensemble: *const zkr_test_ensemble, member: usize) -> i64 {
    guard::answer(0, || Some(get(ensemble).ok()?.ensemble.behind(member)))
}

fn known(follower: usize, is_known: bool) -> Result<()> {
    match is_known {
        true => Ok(()),
        false => Err(Error::invalid("follower", format_args!("{follower} is none; the leader is 0"))),
    }
}
