//! The testing kit, for `zkrecipes/testing`. Servers and proxies run on threads of their own, so nearly all verbs answer at
//! once.

mod control;
mod ensemble;
mod proxy;
mod server;

use napi::bindgen_prelude::BigInt;
use zkrecipes::{Error, ErrorKind};

fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::ConnectionLost, format!("{what} failed: {error}"))
}

/// A 64 bit session id; anything else than one is no session of this server.
fn session_id(id: &BigInt) -> u64 {
    id.get_u64().1
}
