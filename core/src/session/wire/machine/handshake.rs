//! The handshake of a connection: hello and credentials, the server's welcome, and the proof of who we are that SASL wants.

use std::time::Duration;

use zeroize::Zeroizing;
use zkrecipes_protocol::{Hello, Op, Reader, Request, Welcome, Writer, XID_AUTH, XID_SET_WATCHES};

use super::digest_md5::{DigestMd5, Step};
use super::looking::Looking;
use super::{
    Answering, Asked, Event, Granted, LinkState, Machine, NO_SESSION, Output, Phase, WATCHES_AT_ONCE,
};
use crate::session::chance;
use crate::session::clock::Moment;

impl<A: Answering, W> Machine<A, W> {
    /// The connection that was dialled is there.
    pub(crate) fn connected(&mut self, now: Moment) {
        let Phase::Dialling { until, .. } = self.phase else { return };
        self.setup.noted.note(self.tried(), NO_SESSION.into());
        self.phase = Phase::Greeting { until };
        self.incoming.clear();
        let session = self.session.as_ref();
        let hello = Hello {
            zxid_seen: self.seen.max(self.told),
            timeout: i32::try_from(self.setup.session_timeout.as_millis()).unwrap_or(i32::MAX),
            session: session.map_or(0, |granted| granted.id),
            password: session.map_or(&[0; 16], |granted| granted.password.as_slice()),
            read_only: Some(self.setup.read_only),
        };
        self.outgoing = hello.frame();
        for (scheme, credential) in &self.setup.credentials {
            let mut frame = Writer::request(XID_AUTH, Op::AUTH);
            Request::Auth { scheme: scheme.into(), auth: credential }.write(&mut frame);
            self.outgoing.extend(frame.finish());
        }
        self.last_sent = now;
    }

    pub(super) fn welcomed(&mut self, welcome: &Welcome<'_>, now: Moment) -> Result<(), &'static str> {
        if welcome.session == 0 || welcome.timeout <= 0 {
            if self.session.is_none() {
                return Err("the server grants no session");
            }
            self.cause = Some("the server says that the session has ended".to_owned());
            self.end(LinkState::Ended);
            return Ok(());
        }
        if self.session.as_ref().is_some_and(|granted| granted.id != welcome.session) {
            return Err("the server takes us for another session");
        }
        let is_new = self.session.is_none();
        let timeout = Duration::from_millis(welcome.timeout as u64);
        let timeout = self.session.as_ref().map_or(timeout, |granted| granted.timeout);
        let password = Zeroizing::new(welcome.password.to_vec());
        self.session = Some(Granted { id: welcome.session, password, timeout });
        let only_reads = welcome.read_only == Some(true);
        self.is_local = is_new && only_reads;
        self.looking = (only_reads && self.setup.servers.len() > 1).then(|| Looking::begin(now));
        match (&self.setup.sasl, &self.phase) {
            (Some((user, password)), Phase::Greeting { until }) => {
                self.phase = Phase::Proving { until: *until };
                self.proving = Some(DigestMd5::new(user, password, chance::guid().simple().to_string()));
                self.prove(&[], now);
            }
            _ => self.established(now),
        }
        Ok(())
    }

    fn prove(&mut self, token: &[u8], now: Moment) {
        let mut frame = Writer::request(0, Op::SASL);
        Request::Sasl { token }.write(&mut frame);
        self.send(Asked::own(0, Op::SASL, frame.finish()), now);
    }

    pub(super) fn proved(&mut self, err: i32, body: &[u8], now: Moment) {
        let token = Reader::new(body).buffer();
        let (Ok(token), Some(proving), 0) = (token, &mut self.proving, err) else {
            return self.denied("the server does not accept user and password (sasl)");
        };
        // It knows of no users, and nobody has told it anything: what it must not do without knowing us, it refuses by itself.
        if token.is_none() && !proving.has_answered() {
            return self.established(now);
        }
        match proving.step(token.unwrap_or_default()) {
            Ok(Step::Send(response)) => self.prove(&response, now),
            Ok(Step::Done) => self.established(now),
            Err(problem) => self.denied(problem),
        }
    }

    pub(super) fn denied(&mut self, cause: &str) {
        self.cause = Some(cause.to_owned());
        self.end(LinkState::Denied);
    }

    /// Requests may leave.
    fn established(&mut self, now: Moment) {
        self.proving = None;
        self.phase = Phase::Up;
        self.servers.took();
        self.enter(LinkState::Up);
        for (op, frame) in self.watches.again(self.seen, WATCHES_AT_ONCE) {
            self.send(Asked::own(XID_SET_WATCHES, op, frame), now);
        }
        let missed = self.watches.followers().into_iter();
        self.outputs.extend(missed.map(|watcher| Output::Told(watcher, Event::ChildrenChanged)));
        self.pump(now);
    }
}
