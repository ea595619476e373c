#![doc = include_str!("../README.md")]

mod codes;
mod event;
mod frame;
mod handshake;
mod record;
mod reply;
mod request;
pub mod size;
mod words;

pub use codes::{Code, Op, OpName, op_name};
pub use event::{Event, EventKind, event_path};
pub use frame::{Oversized, frame_at, frame_length};
pub use handshake::{Hello, Welcome};
pub use record::{Acl, Malformed, Reader, Stat, Writer};
pub use reply::{ReadResult, Reply, ReplyHead, WriteResult};
pub use request::{CreateArgs, Request, RequestHead, SubRead, SubWrite, parse_request};
pub use words::{WORDS, is_word};

/// xid of an event.
pub const XID_EVENT: i32 = -1;
/// xid of a ping and its reply.
pub const XID_PING: i32 = -2;
/// xid of credentials and their reply.
pub const XID_AUTH: i32 = -4;
/// xid of the request that sets watches again, and of its reply.
pub const XID_SET_WATCHES: i32 = -8;
