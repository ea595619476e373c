//! What every recipe stands on: requests, connections, servers, the session and its lease.

#[path = "../support/mod.rs"]
mod support;

mod budget;
mod catching_up;
mod dialects;
mod drive;
mod ensemble;
mod hosts;
mod lease;
mod many_watches;
mod outages;
mod quotas;
mod read_only;
mod reconnecting;
mod throttling;
mod tls;
mod tls_session;
mod too_large;
mod transactions;
mod transport;
