//! What a server tells of what is watched.

use super::{Malformed, Reader, Writer, XID_EVENT};
use std::borrow::Cow;

/// What happened, numbered as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum EventKind {
    Created = 1,
    Deleted = 2,
    DataChanged = 3,
    ChildrenChanged = 4,
}

impl EventKind {
    pub const ALL: [EventKind; 4] =
        [EventKind::Created, EventKind::Deleted, EventKind::DataChanged, EventKind::ChildrenChanged];
}

/// One event, as it stands behind the header of a reply whose xid is [`XID_EVENT`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// None for a kind that concerns no node, or that nobody knows.
    pub kind: Option<EventKind>,
    pub path: Cow<'a, str>,
}

/// The state of the session that each event carries: connected.
const CONNECTED: i32 = 3;

impl<'a> Event<'a> {
    pub fn read(r: &mut Reader<'a>) -> Result<Event<'a>, Malformed> {
        let number = r.int()?;
        let kind = EventKind::ALL.into_iter().find(|kind| *kind as i32 == number);
        r.int()?;
        Ok(Event { kind, path: r.opt_string()?.unwrap_or_default() })
    }

    /// A whole frame; `zxid` is −1 where the server does not say.
    pub fn frame(kind: EventKind, path: &str, zxid: i64) -> Vec<u8> {
        let mut w = Writer::reply(XID_EVENT, zxid, 0);
        w.int(kind as i32).int(CONNECTED).string(path);
        w.finish()
    }
}

/// The path of an event's finished frame: it follows length, header, kind and state.
pub fn event_path(frame: &[u8]) -> String {
    let event = frame.get(4 + 16..).map(|body| Event::read(&mut Reader::new(body)));
    event.and_then(Result::ok).map(|event| event.path.into_owned()).unwrap_or_default()
}
