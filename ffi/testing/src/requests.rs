//! The request log.

use std::ffi::{CString, c_char};

use zkrecipes_embedded::{LogEntry, Outcome};

use crate::guard;
use crate::handle::{self, Object};
use crate::input::to_c;

/// What became of a request.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum zkr_test_outcome {
    /// Carried out and answered.
    ZKR_TEST_ANSWERED = 0,
    /// Carried out, but a fault kept the answer back.
    ZKR_TEST_UNANSWERED = 1,
    /// Kept away from the server by a fault.
    ZKR_TEST_LOST = 2,
}

/// One request.
#[repr(C)]
pub struct zkr_test_request {
    /// "create2", "getData", "multi", "ping", "connect", …
    pub kind: *const c_char,
    /// As it was asked for, without the suffix of a sequential node; "" for a request that has none. For a multi, the
    /// path of its first operation.
    pub path: *const c_char,
    /// Whose it is; 0 before the handshake.
    pub session_id: u64,
    /// Numbers connections in the order in which they were made.
    pub connection: u64,
    /// The last transaction when it was answered; 0 if it was lost.
    pub zxid: i64,
    /// 0 or the error code of ZooKeeper.
    pub error: i32,
    /// What became of it.
    pub outcome: zkr_test_outcome,
    /// The sizes of the request and of its answer.
    pub bytes_in: usize,
    pub bytes_out: usize,
}

/// A list of requests.
pub struct zkr_test_requests {
    _opaque: [u8; 0],
}

pub(crate) struct Requests {
    entries: Vec<zkr_test_request>,
    // What the entries point into.
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead into the texts beside them, which never change.
unsafe impl Send for Requests {}
unsafe impl Sync for Requests {}

impl Object for Requests {
    type Opaque = zkr_test_requests;
    const NAME: &'static str = "zkr_test_requests";
}

impl Requests {
    pub(crate) fn new(log: Vec<LogEntry>) -> Requests {
        let mut texts = Vec::with_capacity(log.len() * 2);
        let mut keep = |text: &str| {
            texts.push(to_c(text));
            texts[texts.len() - 1].as_ptr()
        };
        let entries = log
            .iter()
            .map(|entry| zkr_test_request {
                kind: keep(entry.op),
                path: keep(&entry.path),
                session_id: entry.session_id,
                connection: entry.connection,
                zxid: entry.zxid,
                error: entry.error,
                outcome: match entry.outcome {
                    Outcome::Answered => zkr_test_outcome::ZKR_TEST_ANSWERED,
                    Outcome::Unanswered => zkr_test_outcome::ZKR_TEST_UNANSWERED,
                    Outcome::Lost => zkr_test_outcome::ZKR_TEST_LOST,
                },
                bytes_in: entry.bytes_in,
                bytes_out: entry.bytes_out,
            })
            .collect();
        Requests { entries, _texts: texts }
    }
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_requests_count(requests: *const zkr_test_requests) -> usize {
    guard::answer(0, || handle::get_anywhere::<Requests>(requests).map(|list| list.entries.len()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_requests_get(
    requests: *const zkr_test_requests,
    index: usize,
) -> *const zkr_test_request {
    guard::answer(std::ptr::null(), || {
        handle::get_anywhere::<Requests>(requests)?.entries.get(index).map(std::ptr::from_ref)
    })
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_requests_free(requests: *mut zkr_test_requests) {
    guard::quietly(|| drop(handle::take::<Requests>(requests)));
}
