//! The proxy in front of a real server.

use std::thread;

use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::Error;
use zkrecipes_embedded::FaultId;

use super::{LogEntry, bad_weather, failed, session_id};
use crate::event_loop::{EventLoop, Inbox, drop_quietly, js_number};
use crate::failure::throw;

#[napi(custom_finalize)]
pub struct Proxy {
    proxy: zkrecipes_embedded::Proxy,
    inbox: Inbox,
}

drop_quietly!(Proxy);
bad_weather!(Proxy, proxy);

/// Starts a proxy on a free port.
#[napi(catch_unwind)]
pub fn start_proxy(env: &Env, event_loop: &EventLoop, upstream: String) -> napi::Result<Proxy> {
    let proxy = zkrecipes_embedded::Proxy::start(&upstream).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => throw(env, Error::invalid("upstream", error)),
        _ => throw(env, failed("starting the proxy", error)),
    })?;
    Ok(Proxy { proxy, inbox: event_loop.inbox() })
}

#[napi]
impl Proxy {
    /// Asks the real server, which takes its time: on a thread of its own. The call's value tells whether there was such a
    /// session.
    #[napi(catch_unwind)]
    pub fn expire(&self, id: BigInt) -> f64 {
        let call = self.inbox.number();
        let (proxy, inbox, id) = (self.proxy.clone(), self.inbox.clone(), session_id(&id));
        thread::spawn(move || {
            let expired = proxy.expire(id).map_err(|error| failed("expiring the session", error));
            inbox.post(call, expired, |expired| expired);
        });
        js_number(call)
    }
}
