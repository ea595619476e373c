//! Generated from api/testing/server.toml by api/generate; do not edit.

use std::ffi::c_char;
use std::ptr::null;

use zkrecipes::Error;
use zkrecipes_embedded::FaultId;

use crate::error::{zkr_error, zkr_strings};
use crate::input;
use crate::input::{HandlePlace, Place};
use crate::requests::zkr_test_requests;
use crate::server;
use crate::server::{ServerHandle, zkr_test_server};
use crate::status::zkr_status;
use crate::verbs;

/// What to connect to; NULL for a handle that cannot be used. Valid until the server is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_connect_string(server: *const zkr_test_server) -> *const c_char {
    verbs::ask(server, null(), |it: &ServerHandle| Some(it.connect_string.as_ptr()))
}

/// The port; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_port(server: *const zkr_test_server) -> u16 {
    verbs::ask(server, 0, |it: &ServerHandle| Some(it.core.port()))
}

/// Breaks every connection; sessions go on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_drop_connections(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            it.core.drop_connections();
            Ok(())
        },
    )
}

/// Answers nothing until zkr_test_server_resume, as if the network swallowed everything.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_pause(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            it.core.pause();
            Ok(())
        },
    )
}

/// Answers again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_resume(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            it.core.resume();
            Ok(())
        },
    )
}

/// Prepares a fault that strikes once, such as "drop_after create2 nth=2", "drop_before delete" or "delay_reply getData
/// by=500ms". fault may be NULL; otherwise it is for the number that zkr_test_server_fault_fired takes.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_inject(
    server: *mut zkr_test_server,
    text: *const c_char,
    fault: *mut u64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(Place::optional(fault)),
        |it: &ServerHandle| {
            let text = input::text("text", text)?;
            it.core.inject_text(&text).map(|id| id.0).map_err(|problem| Error::invalid("text", problem))
        },
    )
}

/// Whether the fault has struck.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_fault_fired(server: *const zkr_test_server, fault: u64) -> bool {
    verbs::ask(server, false, |it: &ServerHandle| Some(it.core.fault_fired(FaultId(fault))))
}

/// Forgets the faults that have not struck.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_clear_faults(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            it.core.clear_faults();
            Ok(())
        },
    )
}

/// How many requests of an operation ("create2", "getData", …; "*" for any) the server has seen for paths that match
/// glob (one star: within a component, two: across; NULL: any) since it started or zkr_test_server_clear_log.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_count(
    server: *const zkr_test_server,
    operation: *const c_char,
    glob: *const c_char,
) -> usize {
    verbs::ask(server, 0, |it: &ServerHandle| {
        let operation = input::text("operation", operation).ok()?;
        let glob = input::optional_text("glob", glob).ok()?;
        Some(it.core.count(&operation, glob.as_deref().unwrap_or("**")))
    })
}

/// The requests that the server has seen, oldest first, since it started or zkr_test_server_clear_log; it keeps the
/// last million. On success *requests belongs to the caller: free it with zkr_test_requests_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_log(
    server: *const zkr_test_server,
    requests: *mut *mut zkr_test_requests,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || HandlePlace::required("requests", requests),
        |it: &ServerHandle| Ok(it.core.log()),
    )
}

/// Forgets the requests seen so far.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_clear_log(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            it.core.clear_log();
            Ok(())
        },
    )
}

/// How many sessions live.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_session_count(server: *const zkr_test_server) -> usize {
    verbs::ask(server, 0, |it: &ServerHandle| Some(it.core.sessions().len()))
}

/// How many clients are connected.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_connection_count(server: *const zkr_test_server) -> usize {
    verbs::ask(server, 0, |it: &ServerHandle| Some(it.core.connections()))
}

/// Ends a server and forgets its data. NULL, freed ones and the server of a zkr_test_ensemble are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_free(server: *mut zkr_test_server) {
    verbs::free(server, |_: &ServerHandle| {});
}

/// Stops serving: connections break and new ones are refused. Data and sessions are kept for zkr_test_server_restart.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_stop(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            it.core.stop();
            Ok(())
        },
    )
}

/// Serves again, on the same port, with the data and sessions of before.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_restart(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            it.core.restart().map_err(|cause| verbs::trouble("test server", "restart", cause))
        },
    )
}

/// Ends a session, as its expiry does. ZKR_INVALID if there is no such session.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_expire(
    server: *mut zkr_test_server,
    session_id: u64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| verbs::known(it.core.expire(session_id), session_id),
    )
}

/// Stops the server's clock: no session expires by itself until zkr_test_server_thaw_clock.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_freeze_clock(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            it.core.freeze_clock();
            Ok(())
        },
    )
}

/// Moves the server's clock on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_advance_clock(
    server: *mut zkr_test_server,
    ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            let ms = input::millis("ms", ms)?;
            it.core.advance_clock(ms);
            Ok(())
        },
    )
}

/// Lets the server's clock run again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_thaw_clock(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            it.core.thaw_clock();
            Ok(())
        },
    )
}

/// Sets the number that the next sequential child of a node gets. ZKR_NO_NODE if there is no such node.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_set_next_sequence(
    server: *mut zkr_test_server,
    path: *const c_char,
    next: i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || Ok(()),
        |it: &ServerHandle| {
            let path = input::text("path", path)?;
            server::set_next_sequence(&it.core, path, next)
        },
    )
}

/// How many watches are set.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_watch_count(server: *const zkr_test_server) -> usize {
    verbs::ask(server, 0, |it: &ServerHandle| Some(it.core.watch_count()))
}

/// The paths of all nodes. On success *paths belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_nodes(
    server: *const zkr_test_server,
    paths: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || HandlePlace::required("paths", paths),
        |it: &ServerHandle| Ok(it.core.nodes()),
    )
}

/// zkr_test_server_nodes under its first name.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_paths(
    server: *const zkr_test_server,
    paths: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        server,
        error,
        || HandlePlace::required("paths", paths),
        |it: &ServerHandle| Ok(it.core.nodes()),
    )
}
