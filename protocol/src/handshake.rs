//! The handshake: a client says hello, a server welcomes it into a new session or back into one.

use super::{Malformed, Reader, Writer};

/// What a client begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello<'a> {
    /// The last transaction that it has seen; a server that has not must send it away.
    pub zxid_seen: i64,
    /// In milliseconds.
    pub timeout: i32,
    /// 0 for a new one.
    pub session: i64,
    pub password: &'a [u8],
    /// Whether a server without quorum will do. None: the client is too old to know of such.
    pub read_only: Option<bool>,
}

impl<'a> Hello<'a> {
    pub fn read(frame: &'a [u8]) -> Result<Hello<'a>, Malformed> {
        let mut r = Reader::new(frame);
        r.int()?;
        Ok(Hello {
            zxid_seen: r.long()?,
            timeout: r.int()?,
            session: r.long()?,
            password: r.buffer()?.unwrap_or_default(),
            read_only: if r.is_empty() { None } else { Some(r.bool()?) },
        })
    }

    /// A whole frame.
    pub fn frame(&self) -> Vec<u8> {
        let mut w = Writer::frame();
        w.int(0).long(self.zxid_seen).int(self.timeout).long(self.session).buffer(Some(self.password));
        if let Some(read_only) = self.read_only {
            w.bool(read_only);
        }
        w.finish()
    }
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome<'a> {
    /// What was granted, in milliseconds. 0: the session has ended, or was never there.
    pub timeout: i32,
    pub session: i64,
    pub password: &'a [u8],
    /// Whether the server is without quorum. None if the client did not ask.
    pub read_only: Option<bool>,
}

impl<'a> Welcome<'a> {
    /// The session has ended.
    pub const EXPIRED: Welcome<'static> =
        Welcome { timeout: 0, session: 0, password: &[0; 16], read_only: None };

    pub fn read(frame: &'a [u8]) -> Result<Welcome<'a>, Malformed> {
        let mut r = Reader::new(frame);
        r.int()?;
        Ok(Welcome {
            timeout: r.int()?,
            session: r.long()?,
            password: r.buffer()?.unwrap_or_default(),
            read_only: if r.is_empty() { None } else { Some(r.bool()?) },
        })
    }

    /// A whole frame.
    pub fn frame(&self) -> Vec<u8> {
        let mut w = Writer::frame();
        w.int(0).int(self.timeout).long(self.session).buffer(Some(self.password));
        if let Some(read_only) = self.read_only {
            w.bool(read_only);
        }
        w.finish()
    }
}
