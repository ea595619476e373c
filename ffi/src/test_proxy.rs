//! The fault proxy of the testing kit.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use zkrecipes::{Error, Result};
use zkrecipes_embedded::{FaultId, Proxy};

use crate::error::{zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, HandlePlace, Place, to_c};
use crate::test_log::{Requests, zkr_test_requests};
use crate::testing::{no_session, pattern, trouble};

/// A proxy that brings the faults of a zkr_test_server between clients and a real server.
pub struct zkr_test_proxy {
    _opaque: [u8; 0],
}

struct ProxyHandle {
    proxy: Proxy,
    connect_string: CString,
}

impl Object for ProxyHandle {
    type Opaque = zkr_test_proxy;
    const NAME: &'static str = "zkr_test_proxy";
}

impl Drop for ProxyHandle {
    fn drop(&mut self) {
        self.proxy.shutdown();
    }
}

fn get(proxy: *const zkr_test_proxy) -> Result<Arc<ProxyHandle>> {
    handle::get("proxy", proxy)
}

/// Starts a proxy on a free port of the loopback interface in front of one server, "host:port", which need not be up
/// yet. On success *proxy belongs to the caller: zkr_test_proxy_free ends it.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_start(
    upstream: *const c_char,
    proxy: *mut *mut zkr_test_proxy,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("proxy", proxy)?;
        let upstream = input::text("upstream", upstream)?;
        let proxy = Proxy::start(&upstream).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::InvalidInput => {
                Error::invalid("upstream", format_args!("{upstream:?} is no \"host:port\""))
            }
            _ => trouble("test proxy", "start", cause),
        })?;
        let connect_string = to_c(&proxy.connect_string());
        place.put(|| handle::publish(ProxyHandle { proxy, connect_string }))
    })
}

/// Ends a proxy and breaks what goes through it. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_free(proxy: *mut zkr_test_proxy) {
    guard::quietly(|| drop(handle::take::<ProxyHandle>(proxy)));
}

/// What to connect to; NULL for a handle that cannot be used. Valid until the proxy is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_connect_string(proxy: *const zkr_test_proxy) -> *const c_char {
    guard::answer(std::ptr::null(), || Some(get(proxy).ok()?.connect_string.as_ptr()))
}

/// The port; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_port(proxy: *const zkr_test_proxy) -> u16 {
    guard::answer(0, || Some(get(proxy).ok()?.proxy.port()))
}

/// Breaks every connection, on both sides; sessions go on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_drop_connections(
    proxy: *mut zkr_test_proxy,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(proxy, error, Proxy::drop_connections)
}

/// Passes nothing on, either way, until zkr_test_proxy_resume.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_pause(proxy: *mut zkr_test_proxy, error: *mut *mut zkr_error) -> zkr_status {
    act(proxy, error, Proxy::pause)
}

/// Passes everything on again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_resume(
    proxy: *mut zkr_test_proxy,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(proxy, error, Proxy::resume)
}

/// Ends a session at the server for real: attaches to it with the password that went by, and closes it. ZKR_INVALID if
/// no such session went by or it had ended, ZKR_CONNECTION_LOST if the server does not answer.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_expire(
    proxy: *mut zkr_test_proxy,
    session_id: u64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || match get(proxy)?.proxy.expire(session_id) {
        Ok(true) => Ok(()),
        Ok(false) => Err(no_session(session_id)),
        Err(cause) => Err(trouble("server behind the test proxy", "end the session", cause)),
    })
}

/// Prepares a fault, as zkr_test_server_inject does. fault may be NULL; otherwise it is for the number that
/// zkr_test_proxy_fault_fired takes.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_inject(
    proxy: *mut zkr_test_proxy,
    text: *const c_char,
    fault: *mut u64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = Place::optional(fault);
        let text = input::text("text", text)?;
        let id = get(proxy)?.proxy.inject_text(&text).map_err(|problem| Error::invalid("text", problem))?;
        place.put(id.0);
        Ok(())
    })
}

/// Whether the fault has struck.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_fault_fired(proxy: *const zkr_test_proxy, fault: u64) -> bool {
    guard::answer(false, || Some(get(proxy).ok()?.proxy.fault_fired(FaultId(fault))))
}

/// Forgets the faults that have not struck.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_clear_faults(
    proxy: *mut zkr_test_proxy,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(proxy, error, Proxy::clear_faults)
}

/// How many requests went to the server, as zkr_test_server_count counts them.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_count(
    proxy: *const zkr_test_proxy,
    operation: *const c_char,
    glob: *const c_char,
) -> usize {
    guard::answer(0, || {
        let (operation, glob) = pattern(operation, glob)?;
        Some(get(proxy).ok()?.proxy.count(&operation, &glob))
    })
}

/// The requests so far, in the order of their answers. On success *requests belongs to the caller: free it with
/// zkr_test_requests_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_log(
    proxy: *const zkr_test_proxy,
    requests: *mut *mut zkr_test_requests,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("requests", requests)?;
        let log = get(proxy)?.proxy.log();
        place.put(|| handle::publish(Requests::new(log)))
    })
}

/// Forgets the requests seen so far.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_clear_log(
    proxy: *mut zkr_test_proxy,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(proxy, error, Proxy::clear_log)
}

/// How many sessions went by and have not been seen to end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_session_count(proxy: *const zkr_test_proxy) -> usize {
    guard::answer(0, || Some(get(proxy).ok()?.proxy.sessions().len()))
}

/// How many clients are connected.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_connection_count(proxy: *const zkr_test_proxy) -> usize {
    guard::answer(0, || Some(get(proxy).ok()?.proxy.connections()))
}

fn act(proxy: *mut zkr_test_proxy, error: *mut *mut zkr_error, action: impl FnOnce(&Proxy)) -> zkr_status {
    guard::verb(error, || {
        action(&get(proxy)?.proxy);
        Ok(())
    })
}
