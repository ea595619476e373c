//! What servers and proxies have in common, and the shapes that their verbs have. The functions of C that use them are
//! generated from `api/testing/`, where each verb is described once.

use std::ffi::CString;
use std::ops::Deref;
use std::sync::Arc;

use zkrecipes::{Error, ErrorKind, Result};
use zkrecipes_embedded::{Control, LogEntry};

use crate::error::{self, zkr_error, zkr_status, zkr_strings};
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{HandlePlace, Place, to_c};
use crate::requests::{Requests, zkr_test_requests};

/// A server or a proxy that runs, until its handle is freed.
pub(crate) struct Running<T: Deref<Target = Control>> {
    pub(crate) core: T,
    pub(crate) connect_string: CString,
    /// Whether it stands for all members of an ensemble, which frees it.
    pub(crate) is_part: bool,
}

impl<T: Deref<Target = Control>> Running<T> {
    pub(crate) fn new(core: T, is_part: bool) -> Running<T> {
        let connect_string = to_c(&core.connect_string());
        Running { core, connect_string, is_part }
    }
}

impl<T: Deref<Target = Control>> Drop for Running<T> {
    fn drop(&mut self) {
        self.core.shutdown();
    }
}

/// The object behind a handle, which is called like the end of its type in the header.
pub(crate) fn get<H: Object>(given: *const H::Opaque) -> Result<Arc<H>> {
    handle::get(H::NAME.trim_start_matches("zkr_test_"), given)
}

/// How an answer gets to its place.
pub(crate) trait Fill<T> {
    fn fill(self, found: T) -> Result<()>;
}

impl Fill<()> for () {
    fn fill(self, (): ()) -> Result<()> {
        Ok(())
    }
}

impl Fill<u64> for Place<u64> {
    fn fill(self, found: u64) -> Result<()> {
        self.put(found);
        Ok(())
    }
}

impl Fill<Vec<LogEntry>> for HandlePlace<zkr_test_requests> {
    fn fill(self, found: Vec<LogEntry>) -> Result<()> {
        self.put(|| handle::publish(Requests::new(found)))
    }
}

impl Fill<Vec<String>> for HandlePlace<zkr_strings> {
    fn fill(self, found: Vec<String>) -> Result<()> {
        self.put(|| error::list(&found))
    }
}

pub(crate) fn now<H: Object, P: Fill<T>, T>(
    given: *const H::Opaque,
    error: *mut *mut zkr_error,
    place: impl FnOnce() -> Result<P>,
    verb: impl FnOnce(&H) -> Result<T>,
) -> zkr_status {
    guard::verb(error, || {
        let place = place()?;
        place.fill(verb(&*get::<H>(given)?)?)
    })
}

/// A question that has an answer for every handle, also for one that cannot be used.
pub(crate) fn ask<H: Object, T>(
    given: *const H::Opaque,
    otherwise: T,
    question: impl FnOnce(&H) -> Option<T>,
) -> T {
    guard::answer(otherwise, || question(&*get::<H>(given).ok()?))
}

/// Frees a handle, unless it is a part of another one.
pub(crate) fn free<H: Object>(given: *mut H::Opaque, last: impl FnOnce(&H)) {
    guard::quietly(|| {
        if get::<H>(given).is_ok_and(|object| object.is_part()) {
            return;
        }
        if let Some(object) = handle::take::<H>(given) {
            last(&object);
        }
    });
}

pub(crate) fn trouble(whom: &str, verb: &str, cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::ConnectionLost, format!("the {whom} did not {verb}: {cause}"))
}

/// Refuses what was asked of a session that there is not.
pub(crate) fn known(is_known: bool, session_id: u64) -> Result<()> {
    match is_known {
        true => Ok(()),
        false => Err(Error::invalid("session_id", format_args!("the server has no session {session_id:#x}"))),
    }
}
