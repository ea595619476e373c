//! Generated from api/testing/proxy.toml by api/generate; do not edit.

use std::ffi::c_char;
use std::ptr::null;

use zkrecipes::Error;
use zkrecipes_embedded::FaultId;

use crate::error::zkr_error;
use crate::input;
use crate::input::{HandlePlace, Place};
use crate::proxy;
use crate::proxy::{ProxyHandle, zkr_test_proxy};
use crate::requests::zkr_test_requests;
use crate::status::zkr_status;
use crate::verbs;

/// What to connect to; NULL for a handle that cannot be used. Valid until the proxy is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_connect_string(proxy: *const zkr_test_proxy) -> *const c_char {
    verbs::ask(proxy, null(), |it: &ProxyHandle| Some(it.connect_string.as_ptr()))
}

/// The port; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_port(proxy: *const zkr_test_proxy) -> u16 {
    verbs::ask(proxy, 0, |it: &ProxyHandle| Some(it.core.port()))
}

/// Breaks every connection, on both sides; sessions go on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_drop_connections(
    proxy: *mut zkr_test_proxy,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        proxy,
        error,
        || Ok(()),
        |it: &ProxyHandle| {
            it.core.drop_connections();
            Ok(())
        },
    )
}

/// Passes nothing on, either way, until zkr_test_proxy_resume.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_pause(proxy: *mut zkr_test_proxy, error: *mut *mut zkr_error) -> zkr_status {
    verbs::now(
        proxy,
        error,
        || Ok(()),
        |it: &ProxyHandle| {
            it.core.pause();
            Ok(())
        },
    )
}

/// Passes everything on again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_resume(
    proxy: *mut zkr_test_proxy,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        proxy,
        error,
        || Ok(()),
        |it: &ProxyHandle| {
            it.core.resume();
            Ok(())
        },
    )
}

/// Prepares a fault that strikes once, such as "drop_after create2 nth=2", "drop_before delete" or "delay_reply getData
/// by=500ms". fault may be NULL; otherwise it is for the number that zkr_test_proxy_fault_fired takes.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_inject(
    proxy: *mut zkr_test_proxy,
    text: *const c_char,
    fault: *mut u64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        proxy,
        error,
        || Ok(Place::optional(fault)),
        |it: &ProxyHandle| {
            let text = input::text("text", text)?;
            it.core.inject_text(&text).map(|id| id.0).map_err(|problem| Error::invalid("text", problem))
        },
    )
}

/// Whether the fault has struck.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_fault_fired(proxy: *const zkr_test_proxy, fault: u64) -> bool {
    verbs::ask(proxy, false, |it: &ProxyHandle| Some(it.core.fault_fired(FaultId(fault))))
}

/// Forgets the faults that have not struck.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_clear_faults(
    proxy: *mut zkr_test_proxy,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        proxy,
        error,
        || Ok(()),
        |it: &ProxyHandle| {
            it.core.clear_faults();
            Ok(())
        },
    )
}

/// How many requests of an operation ("create2", "getData", …; "*" for any) went to the server for paths that match
/// glob (one star: within a component, two: across; NULL: any) since it started or zkr_test_proxy_clear_log.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_count(
    proxy: *const zkr_test_proxy,
    operation: *const c_char,
    glob: *const c_char,
) -> usize {
    verbs::ask(proxy, 0, |it: &ProxyHandle| {
        let operation = input::text("operation", operation).ok()?;
        let glob = input::optional_text("glob", glob).ok()?;
        Some(it.core.count(&operation, glob.as_deref().unwrap_or("**")))
    })
}

/// The requests, in the order of their answers, since it started or zkr_test_proxy_clear_log; it keeps the last
/// million. On success *requests belongs to the caller: free it with zkr_test_requests_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_log(
    proxy: *const zkr_test_proxy,
    requests: *mut *mut zkr_test_requests,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        proxy,
        error,
        || HandlePlace::required("requests", requests),
        |it: &ProxyHandle| Ok(it.core.log()),
    )
}

/// Forgets the requests seen so far.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_clear_log(
    proxy: *mut zkr_test_proxy,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        proxy,
        error,
        || Ok(()),
        |it: &ProxyHandle| {
            it.core.clear_log();
            Ok(())
        },
    )
}

/// How many sessions went by and have not been seen to end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_session_count(proxy: *const zkr_test_proxy) -> usize {
    verbs::ask(proxy, 0, |it: &ProxyHandle| Some(it.core.sessions().len()))
}

/// How many clients are connected.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_connection_count(proxy: *const zkr_test_proxy) -> usize {
    verbs::ask(proxy, 0, |it: &ProxyHandle| Some(it.core.connections()))
}

/// Ends a proxy and breaks what goes through it. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_free(proxy: *mut zkr_test_proxy) {
    verbs::free(proxy, |_: &ProxyHandle| {});
}

/// Ends a session at the server for real: attaches to it with the password that went by, and closes it. ZKR_INVALID if
/// no such session went by or it had ended, ZKR_CONNECTION_LOST if the server does not answer.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_proxy_expire(
    proxy: *mut zkr_test_proxy,
    session_id: u64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(proxy, error, || Ok(()), |it: &ProxyHandle| proxy::expire(&it.core, session_id))
}
