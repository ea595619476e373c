//! The testing kit: the embedded server, for tests of code that uses zkrecipes, without a JVM.

use std::ffi::{CString, c_char};
use std::sync::Arc;
use std::time::Duration;

use zkrecipes::{Error, ErrorKind, Result};
use zkrecipes_embedded::{Builder, FaultId, Server};

use crate::collections::{Strings, zkr_strings};
use crate::error::{zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, HandlePlace, Place, to_c};
use crate::options::{self, SelfSized};
use crate::test_log::{Requests, zkr_test_requests};

/// A ZooKeeper server inside this process, in memory only, for development and tests.
pub struct zkr_test_server {
    _opaque: [u8; 0],
}

/// How a test server behaves. Start from ZKR_TEST_SERVER_OPTIONS_INIT, which has the defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_test_server_options {
    /// sizeof(zkr_test_server_options), as ZKR_TEST_SERVER_OPTIONS_INIT sets it.
    pub size: usize,
    /// The port on the loopback interface (0: any free one).
    pub port: u16,
    /// The tick, and the bounds of session timeouts, in milliseconds (0: the server's own defaults).
    pub tick_ms: i64,
    pub min_session_timeout_ms: i64,
    pub max_session_timeout_ms: i64,
    /// The packet limit in bytes (0: the server's own default).
    pub data_limit: usize,
}

impl SelfSized for zkr_test_server_options {
    const INIT: &'static str = "ZKR_TEST_SERVER_OPTIONS_INIT";
    const LEAST: usize = size_of::<zkr_test_server_options>();

    fn defaults() -> zkr_test_server_options {
        zkr_test_server_options {
            size: size_of::<zkr_test_server_options>(),
            port: 0,
            tick_ms: 0,
            min_session_timeout_ms: 0,
            max_session_timeout_ms: 0,
            data_limit: 0,
        }
    }
}

pub(crate) struct ServerHandle {
    server: Server,
    connect_string: CString,
    /// Whether it stands for all members of an ensemble, which frees it.
    is_part: bool,
}

impl ServerHandle {
    pub(crate) fn new(server: Server, is_part: bool) -> ServerHandle {
        let connect_string = to_c(&server.connect_string());
        ServerHandle { server, connect_string, is_part }
    }
}

impl Object for ServerHandle {
    type Opaque = zkr_test_server;
    const NAME: &'static str = "zkr_test_server";
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.server.shutdown();
    }
}

fn get(server: *const zkr_test_server) -> Result<Arc<ServerHandle>> {
    handle::get("server", server)
}

/// Starts a server on a free port of the loopback interface. options may be NULL for the defaults. On success *server
/// belongs to the caller: zkr_test_server_free ends it.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_start(
    options: *const zkr_test_server_options,
    server: *mut *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("server", server)?;
        let server = builder(options)?.start().map_err(|cause| trouble("test server", "start", cause))?;
        place.put(|| handle::publish(ServerHandle::new(server, false)))
    })
}

pub(crate) fn builder(options: *const zkr_test_server_options) -> Result<Builder> {
    let options = options::read(options)?;
    let mut builder = Server::builder().port(options.port);
    if let Some(tick) = duration("tick_ms", options.tick_ms)? {
        builder = builder.tick(tick);
    }
    if let Some(least) = duration("min_session_timeout_ms", options.min_session_timeout_ms)? {
        builder = builder.min_session_timeout(least);
    }
    if let Some(most) = duration("max_session_timeout_ms", options.max_session_timeout_ms)? {
        builder = builder.max_session_timeout(most);
    }
    if options.data_limit > 0 {
        builder = builder.data_limit(options.data_limit);
    }
    Ok(builder)
}

pub(crate) fn duration(argument: &str, ms: i64) -> Result<Option<Duration>> {
    match u64::try_from(ms) {
        Ok(0) => Ok(None),
        Ok(ms) => Ok(Some(Duration::from_millis(ms))),
        Err(_) => Err(Error::invalid(argument, format_args!("{ms} is negative; give milliseconds, or 0"))),
    }
}

pub(crate) fn trouble(whom: &str, verb: &str, cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::ConnectionLost, format!("the {whom} did not {verb}: {cause}"))
}

/// Ends a server and forgets its data. NULL, freed ones and the server of a zkr_test_ensemble are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_free(server: *mut zkr_test_server) {
    guard::quietly(|| {
        if !get(server).is_ok_and(|server| server.is_part) {
            free(server);
        }
    });
}

pub(crate) fn free(server: *mut zkr_test_server) {
    drop(handle::take::<ServerHandle>(server));
}

/// What to connect to; NULL for a handle that cannot be used. Valid until the server is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_connect_string(server: *const zkr_test_server) -> *const c_char {
    guard::answer(std::ptr::null(), || Some(get(server).ok()?.connect_string.as_ptr()))
}

/// The port; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_port(server: *const zkr_test_server) -> u16 {
    guard::answer(0, || Some(get(server).ok()?.server.port()))
}

/// Stops serving: connections break and new ones are refused. Data and sessions are kept for zkr_test_server_restart.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_stop(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(server, error, Server::stop)
}

/// Serves again, on the same port, with the data and sessions of before.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_restart(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        get(server)?.server.restart().map_err(|cause| trouble("test server", "restart", cause))
    })
}

/// Ends a session, as its expiry does. ZKR_INVALID if there is no such session.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_expire(
    server: *mut zkr_test_server,
    session_id: u64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || match get(server)?.server.expire(session_id) {
        true => Ok(()),
        false => Err(no_session(session_id)),
    })
}

pub(crate) fn no_session(id: u64) -> Error {
    Error::invalid("session_id", format_args!("the server has no session {id:#x}"))
}

/// Breaks every connection; sessions go on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_drop_connections(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(server, error, Server::drop_connections)
}

/// Answers nothing until zkr_test_server_resume, as if the network swallowed everything.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_pause(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(server, error, Server::pause)
}

/// Answers again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_resume(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(server, error, Server::resume)
}

/// Stops the server's clock: no session expires by itself until zkr_test_server_thaw_clock.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_freeze_clock(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(server, error, Server::freeze_clock)
}

/// Moves the server's clock on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_advance_clock(
    server: *mut zkr_test_server,
    ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let by = duration("ms", ms)?.unwrap_or_default();
        get(server)?.server.advance_clock(by);
        Ok(())
    })
}

/// Lets the server's clock run again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_thaw_clock(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(server, error, Server::thaw_clock)
}

/// Prepares a fault that strikes once, such as "drop_after create2 nth=2", "drop_before delete" or "delay_reply getData
/// ms=500". fault may be NULL; otherwise it is for the number that zkr_test_server_fault_fired takes.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_inject(
    server: *mut zkr_test_server,
    text: *const c_char,
    fault: *mut u64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = Place::optional(fault);
        let text = input::text("text", text)?;
        let id = get(server)?.server.inject_text(&text).map_err(|problem| Error::invalid("text", problem))?;
        place.put(id.0);
        Ok(())
    })
}

/// Whether the fault has struck.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_fault_fired(server: *const zkr_test_server, fault: u64) -> bool {
    guard::answer(false, || Some(get(server).ok()?.server.fault_fired(FaultId(fault))))
}

/// Forgets the faults that have not struck.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_clear_faults(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(server, error, Server::clear_faults)
}

/// Sets the number that the next sequential child of a node gets. ZKR_NO_NODE if there is no such node.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_set_next_sequence(
    server: *mut zkr_test_server,
    path: *const c_char,
    next: i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let path = input::text("path", path)?;
        match get(server)?.server.set_next_sequence(&path, next) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::NoNode, "there is no node at that path; create it first")
                .with_path(path)),
        }
    })
}

/// How many requests of an operation ("create2", "getData", …; "*" for any) the server has seen for paths that match
/// glob (one star: within a component, two: across; NULL: any) since it started or zkr_test_server_clear_log.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_count(
    server: *const zkr_test_server,
    operation: *const c_char,
    glob: *const c_char,
) -> usize {
    guard::answer(0, || {
        let (operation, glob) = pattern(operation, glob)?;
        Some(get(server).ok()?.server.count(&operation, &glob))
    })
}

pub(crate) fn pattern(operation: *const c_char, glob: *const c_char) -> Option<(String, String)> {
    let operation = input::text("operation", operation).ok()?;
    let glob = input::optional_text("glob", glob).ok()?;
    Some((operation, glob.unwrap_or_else(|| "**".to_owned())))
}

/// The requests that the server has seen since it started or zkr_test_server_clear_log, oldest first; it keeps the last
/// million. On success *requests belongs to the caller: free it with zkr_test_requests_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_log(
    server: *const zkr_test_server,
    requests: *mut *mut zkr_test_requests,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("requests", requests)?;
        let log = get(server)?.server.log();
        place.put(|| handle::publish(Requests::new(log)))
    })
}

/// Forgets the requests seen so far.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_clear_log(
    server: *mut zkr_test_server,
    error: *mut *mut zkr_error,
) -> zkr_status {
    act(server, error, Server::clear_log)
}

/// How many sessions live.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_session_count(server: *const zkr_test_server) -> usize {
    guard::answer(0, || Some(get(server).ok()?.server.sessions().len()))
}

/// How many clients are connected.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_connection_count(server: *const zkr_test_server) -> usize {
    guard::answer(0, || Some(get(server).ok()?.server.connections()))
}

/// How many watches are set.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_watch_count(server: *const zkr_test_server) -> usize {
    guard::answer(0, || Some(get(server).ok()?.server.watch_count()))
}

/// The paths of all nodes. On success *paths belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_test_server_paths(
    server: *const zkr_test_server,
    paths: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("paths", paths)?;
        let all = get(server)?.server.dump_paths();
        place.put(|| handle::publish(Strings::new(all)))
    })
}

fn act(server: *mut zkr_test_server, error: *mut *mut zkr_error, action: impl FnOnce(&Server)) -> zkr_status {
    guard::verb(error, || {
        action(&get(server)?.server);
        Ok(())
    })
}
