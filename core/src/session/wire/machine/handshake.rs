//! The handshake of a connection: hello and credentials, the server's welcome, and the proof of who we are that SASL wants.
//! The welcome to a new session says its timeout, which may be another than was asked for, and is kept from then on.

use std::time::Duration;

use zeroize::{Zeroize, Zeroizing};
use zkrecipes_protocol::{
    Code, Hello, Reader, ReplyHead, Request, Welcome, Writer, XID_AUTH, XID_SET_WATCHES,
};

use super::digest_md5::{DigestMd5, DigestStep};
use super::looking::Looking;
use super::{Answering, Event, Letter, LinkState, Machine, NO_SESSION, Output, Phase, SessionIdentity};
use crate::session::clock::Moment;
use crate::session::random;

/// What a frame with credentials takes besides these.
const AROUND_AUTH: usize = 24;
/// The head of an answer, which says more only if nothing is wrong.
const HEAD: usize = 16;

impl<A: Answering, W> Machine<A, W> {
    /// The connection that was dialled is there.
    pub(crate) fn connected(&mut self, now: Moment) {
        let Phase::Dialling { .. } = self.phase else { return };
        self.noted.note(self.servers.current(), NO_SESSION.into());
        self.phase = Phase::Greeting;
        self.incoming.clear();
        let session = self.session.as_ref();
        let hello = Hello {
            zxid_seen: self.seen.max(self.told),
            timeout: i32::try_from(self.options.session_timeout.as_millis()).unwrap_or(i32::MAX),
            session: session.map_or(0, |granted| granted.id),
            password: session.map_or(&[0; 16], |granted| granted.password.as_slice()),
            read_only: Some(self.options.read_only),
        };
        let hello = hello.frame();
        let sizes =
            self.options.auth.iter().map(|auth| AROUND_AUTH + auth.scheme.len() + auth.credential.len());
        // With room for all of it: what grows leaves a copy behind, which nobody wipes.
        self.outgoing = Zeroizing::new(Vec::with_capacity(hello.len() + sizes.sum::<usize>()));
        self.outgoing.extend(hello);
        for auth in &self.options.auth {
            let request = Request::Auth { scheme: (&auth.scheme).into(), auth: &auth.credential };
            let mut frame = Writer::request(XID_AUTH, request.op());
            frame.reserve(AROUND_AUTH + auth.scheme.len() + auth.credential.len());
            request.write(&mut frame);
            self.outgoing.extend(&*Zeroizing::new(frame.finish()));
        }
        self.last_sent = now;
    }

    /// Leaves nothing of credentials in the memory that what is sent later grows out of.
    fn wipe_what_was_sent(&mut self) {
        if !self.options.auth.is_empty() {
            let unsent = Zeroizing::new(self.outgoing.to_vec());
            self.outgoing.zeroize();
            self.outgoing.extend(&*unsent);
        }
    }

    /// What a server answers that opens only local sessions, and none of those: the head of an answer, and no welcome.
    pub(super) fn is_refused_for_want_of_a_quorum(head: &ReplyHead, frame: &[u8]) -> bool {
        frame.len() == HEAD && head.err == Code::NotReadOnly as i32
    }

    pub(super) fn welcomed(&mut self, welcome: &Welcome<'_>, now: Moment) -> Result<(), &'static str> {
        self.wipe_what_was_sent();
        if welcome.session == 0 || welcome.timeout <= 0 {
            if self.session.is_none() {
                return Err("the server grants no session");
            }
            self.expired();
            return Ok(());
        }
        if self.session.as_ref().is_some_and(|granted| granted.id != welcome.session) {
            // As ClickHouse Keeper does: it forgets a session with its connection. Ours may stand there until its timeout, but nobody
            // speaks for it any more.
            self.cause =
                Some("the server has opened another session instead of going on with ours".to_owned());
            self.end(LinkState::Ended);
            return Ok(());
        }
        self.last_heard = now;
        let is_new = self.session.is_none();
        let timeout = Duration::from_millis(welcome.timeout as u64);
        let timeout = self.session.as_ref().map_or(timeout, |granted| granted.timeout);
        let password = Zeroizing::new(welcome.password.to_vec());
        self.session = Some(SessionIdentity { id: welcome.session, password, timeout });
        let only_reads = welcome.read_only == Some(true);
        self.is_local = is_new && only_reads;
        self.looking = (only_reads && self.servers.many() > 1).then(|| Looking::begin(now));
        match &self.options.sasl {
            Some(sasl) => {
                self.phase = Phase::Proving;
                let cnonce = random::guid().simple().to_string();
                self.proving = Some(DigestMd5::new(&sasl.user, &sasl.password, cnonce));
                self.prove(&[], now);
            }
            None => self.established(now),
        }
        Ok(())
    }

    fn prove(&mut self, token: &[u8], now: Moment) {
        self.send_own(0, Letter::of(&Request::Sasl { token }), now);
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
            Ok(DigestStep::Send(response)) => self.prove(&response, now),
            Ok(DigestStep::Done) => self.established(now),
            Err(problem) => self.denied(problem),
        }
    }

    /// Requests may leave.
    fn established(&mut self, now: Moment) {
        self.proving = None;
        self.phase = Phase::Up;
        self.connected_to = Some(self.servers.current().clone());
        self.servers.took();
        self.enter(LinkState::Up);
        if self.is_basic() {
            // RaftKeeper loses watches of children that are set again. Whoever watches looks again instead, and sets them anew.
            let shaken = self.watches.shaken().into_iter();
            self.outputs.extend(shaken.map(|(watcher, event)| Output::Told(watcher, event)));
        }
        for letter in self.watches.again(self.seen) {
            self.send_own(XID_SET_WATCHES, letter, now);
        }
        let missed = self.watches.followers().into_iter();
        self.outputs.extend(missed.map(|watcher| Output::Told(watcher, Event::ChildrenChanged)));
        self.pump(now);
    }
}
