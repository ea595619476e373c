//! The testing kit in C: the embedded server, for tests of code that uses zkrecipes, without a JVM. It stands beside
//! libzkrecipes, which makes and frees the errors and lists of text; the rules are those of the library.
//!
//! `include/zkrecipes_testing.h` is generated from these files; their documentation is written for readers of C.

#![allow(non_camel_case_types)]
// Every exported function takes pointers from C; the header and the guard say what is promised about them.
#![allow(clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref)]
// The files that the library has too offer more than is needed here.
#![allow(dead_code, unused_imports)]

mod error;

#[path = "../../src/guard.rs"]
mod guard;

#[path = "../../src/handle.rs"]
mod handle;

#[path = "../../src/input.rs"]
mod input;

#[path = "../../src/sized.rs"]
mod sized;

#[path = "../../src/status.rs"]
mod status;

#[path = "../../src/system/mod.rs"]
mod system;

mod verbs;

// In the order in which the header shows them.
mod server;

#[path = "generated/server.rs"]
mod server_verbs;

mod requests;

mod proxy;

#[path = "generated/proxy.rs"]
mod proxy_verbs;

mod ensemble;

/// See [`handle`].
const FIRST_GENERATION: usize = 2;
