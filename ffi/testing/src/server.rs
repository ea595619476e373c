//! The server: its options, and how it is started. What can be done to it is described in `api/testing/`.

use std::mem::offset_of;
use std::time::Duration;

use zkrecipes::{Error, ErrorKind, Result};
use zkrecipes_embedded::{Builder, Server};

use crate::error::{zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, HandlePlace};
use crate::sized::{self, Flag, SelfSized};
use crate::verbs::{Running, trouble};

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
    /// Zero.
    pub reserved: [u8; 6],
    /// The tick, and the bounds of session timeouts, in milliseconds (0: the server's own defaults).
    pub tick_ms: i64,
    pub min_session_timeout_ms: i64,
    pub max_session_timeout_ms: i64,
    /// The packet limit in bytes (0: the server's own default).
    pub data_limit: usize,
    /// Whether it takes nodes with a time to live (false), as a real one does with zookeeper.extendedTypesEnabled=true.
    pub extended_types: Flag,
    /// Zero.
    pub reserved_2: [u8; 7],
}

// A caller of version 0.1 has that much.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(zkr_test_server_options::LEAST == 48);

impl SelfSized for zkr_test_server_options {
    const INIT: &'static str = "ZKR_TEST_SERVER_OPTIONS_INIT";
    const LEAST: usize = offset_of!(zkr_test_server_options, data_limit) + size_of::<usize>();

    fn defaults() -> zkr_test_server_options {
        zkr_test_server_options {
            size: size_of::<zkr_test_server_options>(),
            port: 0,
            reserved: [0; 6],
            tick_ms: 0,
            min_session_timeout_ms: 0,
            max_session_timeout_ms: 0,
            data_limit: 0,
            extended_types: Flag::default(),
            reserved_2: [0; 7],
        }
    }

    fn reserved(&self) -> Vec<u8> {
        [&self.reserved[..], &self.reserved_2].concat()
    }
}

pub(crate) type ServerHandle = Running<Server>;

impl Object for ServerHandle {
    type Opaque = zkr_test_server;
    const NAME: &'static str = "zkr_test_server";

    fn is_part(&self) -> bool {
        self.is_part
    }
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
        place.put(|| handle::publish(Running::new(server, false)))
    })
}

pub(crate) fn builder(options: *const zkr_test_server_options) -> Result<Builder> {
    let options = sized::read(options)?;
    let extended_types = options.extended_types.get("extended_types")?;
    let mut builder = Server::builder().port(options.port).extended_types(extended_types);
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

/// A setting of the server; 0 is its own default.
fn duration(argument: &str, ms: i64) -> Result<Option<Duration>> {
    let given = input::millis(argument, ms)?;
    Ok(Some(given).filter(|given| !given.is_zero()))
}

pub(crate) fn set_next_sequence(server: &Server, path: String, next: i32) -> Result<()> {
    match server.set_next_sequence(&path, next) {
        true => Ok(()),
        false => {
            Err(Error::new(ErrorKind::NoNode, "there is no node at that path; create it first")
                .with_path(path))
        }
    }
}
