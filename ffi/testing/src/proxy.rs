//! The fault proxy: how it is started. What can be done to it is described in `api/testing/`.

use std::ffi::c_char;

use zkrecipes::{Error, Result};
use zkrecipes_embedded::Proxy;

use crate::error::{zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, HandlePlace};
use crate::verbs::{Running, known, trouble};

/// A proxy that brings the faults of a zkr_test_server between clients and a real server.
pub struct zkr_test_proxy {
    _opaque: [u8; 0],
}

pub(crate) type ProxyHandle = Running<Proxy>;

impl Object for ProxyHandle {
    type Opaque = zkr_test_proxy;
    const NAME: &'static str = "zkr_test_proxy";
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
        place.put(|| handle::publish(Running::new(proxy, false)))
    })
}

pub(crate) fn expire(proxy: &Proxy, session_id: u64) -> Result<()> {
    let expired = proxy.expire(session_id);
    known(
        expired.map_err(|cause| trouble("server behind the test proxy", "end the session", cause))?,
        session_id,
    )
}
