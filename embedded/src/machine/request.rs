//! From a frame to its reply. A new request has its code and its form in `protocol/`; `read` or `write` carries it out.

use super::reconfig::Change;
use super::{ConnId, Identity, Kind, Machine, Note, Now, acl, journal};
use crate::wire::{Code, Op, Reply, Request, RequestHead, Writer, XID_PING, op_name, parse_request};
use std::sync::Arc;

/// Who asks, and with which number.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub conn: ConnId,
    pub session: i64,
    pub xid: i32,
    /// The identities at the time of asking.
    pub ids: Arc<[Identity]>,
}

/// Writes the body that follows a reply header.
pub(super) type Body = Writer;

impl Machine {
    pub(super) fn request(&mut self, conn: ConnId, session: i64, frame: &[u8], now: Now) {
        let Ok((RequestHead { xid, op }, body)) = RequestHead::split(frame) else { return self.close(conn) };
        let Some(c) = self.conns.get(&conn) else { return };
        let caller = Caller { conn, session, xid, ids: c.ids.clone() };
        if let Some(scheme) = &self.config.require_auth
            && !matches!(op, Op::AUTH | Op::SASL)
            && !caller.ids.iter().any(|id| id.scheme == *scheme)
        {
            let refusal = Writer::reply(xid, 0, Code::AuthRequired as i32);
            self.send(conn, Kind::Reply, refusal.finish());
            return self.close(conn);
        }

        let Ok(request) = parse_request(op, body) else {
            self.reply_error(conn, xid, Code::MarshallingError);
            return self.close(conn);
        };
        let dialect = &self.config.dialect;
        let is_known = dialect.knows(op_name(op))
            && match &request {
                Request::Multi(parts) => parts.iter().all(|part| dialect.knows(op_name(part.op()))),
                _ => true,
            };
        let request = if is_known { request } else { Request::Unknown };
        if request == Request::Unknown && dialect.is_mute {
            return self.close(conn);
        }
        if self.config.read_only && is_write(&request) {
            return self.reply_error(conn, xid, Code::NotReadOnly);
        }
        if self.is_follower() && journal::is_leaders(&request) {
            return self.forward(conn, frame, request == Request::Close);
        }
        match request {
            Request::Ping => self.send(conn, Kind::Reply, Writer::reply(XID_PING, self.zxid, 0).finish()),
            Request::Write(write) => self.write_request(&caller, write, now),
            Request::SetAcl { path, acl, version } => self.set_acl(&caller, &path, &acl, version),
            Request::Multi(ops) => self.multi(&caller, ops, now),
            Request::Auth { scheme, auth } => self.auth(&caller, &scheme, auth),
            Request::Sasl { .. } => {
                // No credentials are accepted this way: refused, as a real server refuses unknown ones.
                let mut w = Writer::reply(xid, 0, Code::AuthFailed as i32);
                Reply::Token(None).write(&mut w);
                self.send(conn, Kind::Reply, w.finish());
                self.close(conn);
            }
            Request::Reconfig { joining, leaving, all, from } => {
                let change = Change { joining, leaving, all };
                self.reconfig(&caller, &change, from, now);
            }
            Request::Close => self.close_session(&caller),
            Request::Unknown if self.config.dialect.keeps_connections => {
                self.reply_error(conn, xid, Code::Unimplemented);
            }
            Request::Unknown => {
                self.send(conn, Kind::Reply, Writer::reply(xid, -1, Code::Unimplemented as i32).finish());
                self.close(conn);
            }
            read => self.read_request(&caller, read),
        }
    }

    fn auth(&mut self, caller: &Caller, scheme: &str, auth: &[u8]) {
        let Some(c) = self.conns.get_mut(&caller.conn) else { return };
        let proved = match scheme {
            "digest" => Some(Identity::new("digest", acl::digest_bytes(auth))),
            "ip" => Some(Identity::new("ip", c.peer.ip().to_string())),
            _ => None,
        };
        let Some(identity) = proved else {
            let refusal = Writer::reply(caller.xid, 0, Code::AuthFailed as i32);
            self.send(caller.conn, Kind::Reply, refusal.finish());
            return self.close(caller.conn);
        };
        let mut ids = c.ids.to_vec();
        let is_super = self.config.super_digest.as_ref() == Some(&identity.id) && scheme == "digest";
        for id in is_super.then(|| Identity::new("super", "")).into_iter().chain([identity]) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        c.ids = ids.into();
        self.send(caller.conn, Kind::Reply, Writer::reply(caller.xid, 0, 0).finish());
    }

    fn close_session(&mut self, caller: &Caller) {
        let session = caller.session;
        let zxid = self.next_zxid();
        self.sessions.end(session);
        // Its own events still reach it, then the reply, then nothing.
        self.delete_ephemerals(session, zxid);
        self.record(|| journal::Change::SessionClosed { session });
        self.send(caller.conn, Kind::Reply, Writer::reply(caller.xid, zxid, 0).finish());
        self.close(caller.conn);
        self.out.push(super::Output::Note(Note::SessionClosed { session }));
    }

    pub(super) fn reply_error(&mut self, conn: ConnId, xid: i32, code: Code) {
        self.send(conn, Kind::Reply, Writer::reply(xid, self.zxid, code as i32).finish());
    }

    pub(super) fn reply(&mut self, caller: &Caller, reply: &Reply) {
        let mut body = self.begin_reply(caller);
        reply.write(&mut body);
        self.end_reply(caller, body);
    }

    pub(super) fn begin_reply(&self, caller: &Caller) -> Body {
        Writer::reply(caller.xid, self.zxid, 0)
    }

    pub(super) fn end_reply(&mut self, caller: &Caller, body: Body) {
        self.send(caller.conn, Kind::Reply, body.finish());
    }
}

fn is_write(request: &Request) -> bool {
    matches!(
        request,
        Request::Write(_)
            | Request::SetAcl { .. }
            | Request::Multi(_)
            | Request::Sync { .. }
            | Request::Reconfig { .. }
    )
}
