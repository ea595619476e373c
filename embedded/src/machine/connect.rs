//! The handshake: a new session, or back into one.

use super::{ConnId, Kind, Machine, Note, Now};
use crate::wire::{Hello, Welcome};
use std::time::Duration;

/// The answer to a handshake that comes too late. The connection is closed after it.
pub(crate) fn too_late(hello: &[u8]) -> Vec<u8> {
    let read_only = Hello::read(hello).map_or(true, |hello| hello.read_only.is_some()).then_some(false);
    Welcome { read_only, ..Welcome::EXPIRED }.frame()
}

impl Machine {
    pub(super) fn handshake(&mut self, conn: ConnId, frame: &[u8], now: Now) {
        let Ok(mut hello) = Hello::read(frame) else { return self.close(conn) };
        if self.config.dialect.forgets_sessions {
            (hello.session, hello.zxid_seen) = (0, 0);
        }
        if self.config.read_only && hello.read_only != Some(true) {
            return self.close(conn);
        }
        if self.without_quorum.is_some_and(|local| hello.session != 0 && hello.session < local) {
            // Only an ensemble that is whole can say whether it still lives.
            return self.close(conn);
        }
        if hello.zxid_seen > self.zxid {
            // The client has seen transactions that this server has not: it must use another server.
            return self.close(conn);
        }
        if self.is_follower() {
            if let Some(old) = self.by_session.get(&hello.session).copied() {
                self.close(old);
            }
            return self.forward(conn, frame, false);
        }
        let asked = Duration::from_millis(u64::try_from(hello.timeout).unwrap_or(0));
        let timeout = asked.max(self.config.min_session_timeout).min(self.config.max_session_timeout);
        if hello.session == 0 {
            let session = self.sessions.create(now.mono, timeout);
            self.next_zxid();
            self.out.push(super::Output::Note(Note::SessionOpened { session, conn, timeout }));
            self.attach(conn, session, timeout, &hello);
            return;
        }
        // The old connection goes even if the password turns out wrong.
        if let Some(old) = self.by_session.get(&hello.session).copied() {
            self.close(old);
        }
        let session = hello.session;
        let known = hello.password == self.sessions.password(session);
        if known && self.sessions.touch(session, now.mono, timeout) {
            self.out.push(super::Output::Note(Note::SessionResumed { session, conn }));
            self.attach(conn, session, timeout, &hello);
        } else {
            self.out.push(super::Output::Note(Note::SessionRefused { session, conn }));
            self.greet(conn, 0, Duration::ZERO, [0; 16], &hello);
            self.close(conn);
        }
    }

    fn attach(&mut self, conn: ConnId, session: i64, timeout: Duration, hello: &Hello) {
        let Some(c) = self.conns.get_mut(&conn) else { return };
        c.session = Some(session);
        c.timeout = timeout;
        self.by_session.insert(session, conn);
        let password = self.sessions.password(session);
        self.greet(conn, session, timeout, password, hello);
    }

    fn greet(&mut self, conn: ConnId, session: i64, timeout: Duration, password: [u8; 16], hello: &Hello) {
        let read_only = hello.read_only.map(|_| self.config.read_only);
        let timeout = timeout.as_millis() as i32;
        let welcome = Welcome { timeout, session, password: &password, read_only };
        self.send(conn, Kind::Handshake, welcome.frame());
    }
}
