//! What a server sends: answers in the order of the requests, and events.

use zkrecipes_protocol::{
    Code, Event as Told, Op, Reader, Reply, ReplyHead, Welcome, XID_AUTH, XID_EVENT, XID_SET_WATCHES,
    frame_at,
};

use super::asked_watches::AskedWatch;
use super::queue::{Asked, Wanted};
use super::{Answering, LinkState, Machine, NO_LOCAL_SESSION, Output, Phase, WireError};
use crate::session::clock::Moment;

/// No answer is that long. Memory is taken as bytes arrive, and not for what a server declares.
const LONGEST_FRAME: usize = 64 << 20;
/// Nor what comes before there is a session.
const LONGEST_GREETING: usize = 64 << 10;
/// Of an answer: its length, the number of the request, the transaction and the error.
const FRAME_HEAD: usize = 20;
/// Room for answers that is kept.
const MOST_KEPT: usize = 1 << 20;
const UNREADABLE: &str = "the server sent what cannot be read";

impl<A: Answering, W> Machine<A, W> {
    /// Bytes have arrived.
    pub(crate) fn received(&mut self, bytes: &[u8], now: Moment) {
        // Before its welcome it may be no server that speaks, and keeps no session.
        if matches!(self.phase, Phase::Proving | Phase::Up) {
            self.last_heard = now;
        }
        self.incoming.extend_from_slice(bytes);
        let incoming = std::mem::take(&mut self.incoming);
        let mut at = 0;
        while matches!(self.phase, Phase::Greeting | Phase::Proving | Phase::Up) {
            let longest = if matches!(self.phase, Phase::Up) { LONGEST_FRAME } else { LONGEST_GREETING };
            match frame_at(&incoming[at..], longest) {
                Ok(Some((frame, taken))) => {
                    at += taken;
                    if let Err(problem) = self.frame(frame, now) {
                        self.hung_up(problem, now);
                    }
                }
                Ok(None) => {
                    self.incoming = incoming;
                    self.incoming.drain(..at);
                    if self.incoming.len() < MOST_KEPT {
                        self.incoming.shrink_to(MOST_KEPT);
                    }
                    return;
                }
                Err(_) => self.hung_up("the server sent what is no answer", now),
            }
        }
    }

    fn frame(&mut self, frame: &[u8], now: Moment) -> Result<(), &'static str> {
        let mut r = Reader::new(frame);
        let head = ReplyHead::read(&mut r);
        let is_greeting = matches!(self.phase, Phase::Greeting);
        if let Ok(head) = head
            && head.xid == XID_AUTH
        {
            if head.err != 0 {
                self.denied("the server refused our credentials");
            }
            return Ok(());
        }
        if is_greeting {
            if head.is_ok_and(|head| Self::is_refused_for_want_of_a_quorum(&head, frame)) {
                return Err(NO_LOCAL_SESSION);
            }
            return self.welcomed(&Welcome::read(frame).map_err(|_| UNREADABLE)?, now);
        }
        let head = head.map_err(|_| UNREADABLE)?;
        if head.xid == XID_EVENT {
            self.told = self.told.max(head.zxid);
            self.happened(&Told::read(&mut r).map_err(|_| UNREADABLE)?, now);
            return Ok(());
        }
        let asked = self.in_flight.front().ok_or("the server answered what nobody asked")?;
        if asked.xid != head.xid {
            return Err("the server answered out of order");
        }
        // Nobody knows what became of a request whose answer cannot be read.
        if head.err == 0 && asked.answer.is_some() && Reply::read(asked.op, &mut r).is_err() {
            return Err(UNREADABLE);
        }
        if let Some(asked) = self.in_flight.pop_front() {
            // Of several requests that set watches again the first ones say nothing of the watches in the last.
            if self.in_flight.front().is_none_or(|next| next.xid != XID_SET_WATCHES) {
                self.seen = self.seen.max(head.zxid);
            }
            self.last_answered = now;
            self.counted -= usize::from(asked.is_counted);
            self.answered(asked, head.err, &frame[16..], now);
        }
        self.pump(now);
        Ok(())
    }

    fn answered(&mut self, asked: Asked<A, W>, err: i32, body: &[u8], now: Moment) {
        let meanwhile = self.has_gone(&asked);
        let Asked { op, answer, watch, .. } = asked;
        if let Some(wanted) = watch {
            self.watched(wanted, meanwhile, op, err, now);
        }
        match op {
            Op::CLOSE => return self.end(LinkState::Ended),
            Op::SASL => return self.proved(err, body, now),
            Op::ADD_WATCH if err == 0 => self.following.works(),
            Op::ADD_WATCH => self.no_following(),
            _ => {}
        }
        let outcome = if err == 0 { Ok(body.to_vec()) } else { Err(refusal(err)) };
        if let Some(answer) = answer {
            self.answered += FRAME_HEAD + body.len();
            self.outputs.push(Output::Answered(answer, outcome));
        }
        if err == Code::AuthRequired as i32 {
            self.denied("the server wants to know who we are");
        } else if err == Code::SessionExpired as i32 {
            self.expired();
        }
    }

    /// The request has its answer that was to set a watch.
    fn watched(&mut self, wanted: Wanted<W>, meanwhile: AskedWatch, op: Op, err: i32, now: Moment) {
        let Wanted { kind, path, id, watcher } = wanted;
        let is_set = err == 0 || (op == Op::EXISTS && err == Code::NoNode as i32);
        match meanwhile.early {
            _ if !is_set => {}
            Some(event) => {
                // That may have been another watch, which was there before this one, and the node may be a new one.
                let event = if err == 0 { event.without_certainty(kind) } else { event };
                self.outputs.push(Output::Told(watcher, event));
                self.unheard.insert((kind, path.clone()));
            }
            None => self.watches.add(kind, path.clone(), err != 0, id, watcher),
        }
        if meanwhile.is_given_up {
            self.unwatch(kind, &path, id, now);
        }
        self.remove_unheard(kind, &path, now);
    }
}

/// The server's refusal, in our words.
pub(crate) fn refusal(err: i32) -> WireError {
    match Code::of(err) {
        Some(Code::NoNode) => WireError::NoNode,
        Some(Code::NodeExists) => WireError::NodeExists,
        Some(Code::BadVersion) => WireError::BadVersion,
        Some(Code::NotEmpty) => WireError::NotEmpty,
        Some(Code::NoChildrenForEphemerals) => WireError::EphemeralParent,
        Some(Code::NoAuth) => WireError::NoAuth,
        Some(Code::AuthFailed | Code::AuthRequired) => WireError::AuthFailed,
        Some(Code::InvalidAcl) => WireError::InvalidAcl,
        Some(Code::QuotaExceeded) => WireError::QuotaExceeded,
        Some(Code::NotReadOnly) => WireError::ReadOnly,
        Some(Code::Unimplemented) => WireError::Unimplemented,
        Some(Code::SessionExpired) => WireError::SessionEnded,
        // The server that a session has left refused it; where the session went, nothing is known of the request. A throttled
        // one was not carried out. Both may be asked again.
        Some(Code::SessionMoved | Code::Throttled) => WireError::ConnectionLoss,
        Some(Code::BadArguments) => WireError::bad_arguments(),
        Some(Code::MarshallingError) => WireError::senseless(),
        Some(code) => WireError::Other(format!("{code:?}")),
        None => WireError::of_number(err),
    }
}
