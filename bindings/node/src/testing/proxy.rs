//! The proxy in front of a real server.

use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::{Error, drive};

use super::control::Control;
use super::{failed, session_id};
use crate::event_loop::{EventLoop, Inbox, drop_quietly, js_number};
use crate::failure::throw;

#[napi(custom_finalize)]
pub struct Proxy {
    proxy: zkrecipes_embedded::Proxy,
    inbox: Inbox,
}

drop_quietly!(Proxy);

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
    #[napi(catch_unwind)]
    pub fn control(&self) -> Control {
        Control::from(&*self.proxy)
    }

    /// Asks the real server, which takes its time: on a thread of its own. The call's value tells whether there was such a
    /// session.
    #[napi(catch_unwind)]
    pub fn expire(&self, id: BigInt) -> f64 {
        let call = self.inbox.number();
        let (proxy, inbox, id) = (self.proxy.clone(), self.inbox.clone(), session_id(&id));
        let from = inbox.clone();
        let started = drive::thread("zkrecipes-proxy", move || {
            let expired = proxy.expire(id).map_err(|error| failed("expiring the session", error));
            from.post(call, expired, |expired| expired);
        });
        if let Err(error) = started {
            inbox.post(call, Err(failed("starting a thread", error)), |expired: bool| expired);
        }
        js_number(call)
    }
}
