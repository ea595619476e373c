//! A session's client end while it is connected: requests, answers, events, pings, and the end.

use zkrecipes::session::wire::{Event, LinkState, WireError};
use zkrecipes_embedded::wire::{Code, Op, ReplyHead, XID_EVENT, XID_PING, event_path};

use super::{Asked, Effect, Operation, Phase, Reply, State, shuffled};
use crate::net::{Down, Net};
use crate::sim::Instant;
use crate::tell;
use crate::wire::frames;
use crate::wire::names::short;
use crate::wire::transport::removal;
use crate::wire::watches::Kind;

impl State {
    pub(super) fn serve(&mut self, now: Instant, effects: &mut Vec<Effect>) -> bool {
        // Which of several things that are ready comes first is open.
        let reads_first = self.sim.chance(|rng| rng.one_in(2));
        let has_worked = (reads_first && self.read(now, effects))
            || self.write(now)
            || (!reads_first && self.read(now, effects))
            || self.tick(now, effects);
        self.move_on(now, effects);
        has_worked
    }

    /// From greeting to serving, and from serving to the end.
    fn move_on(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Greeting { has_pinged: false } if self.link.state == LinkState::Up => {
                self.ping(now);
                self.phase = Phase::Greeting { has_pinged: true };
            }
            Phase::Greeting { has_pinged: true } if self.in_flight.is_empty() => {
                self.phase = Phase::Serving { is_halted: false };
                self.endpoints = shuffled(&self.sim, self.host);
                self.tick_at = now + self.times.tick;
                if let (Some(opened), Some(me)) = (self.opened.take(), self.me.upgrade()) {
                    effects.push(Effect::Run(Box::new(move || {
                        if let Err(Ok(unwanted)) = opened.send(Ok(me)) {
                            unwanted.close();
                        }
                    })));
                }
            }
            Phase::Serving { is_halted: true } if self.in_flight.is_empty() => {
                self.hang_up();
                self.end(LinkState::Ended, effects);
            }
            _ => {}
        }
    }

    fn read(&mut self, now: Instant, effects: &mut Vec<Effect>) -> bool {
        let Some(arrived) = self.inbox.pop_front() else { return false };
        self.last_heard = now;
        match arrived {
            Down::Frame(frame) if self.link.state == LinkState::Down => self.welcomed(&frame, now, effects),
            Down::Frame(frame) => self.heard(&frame, effects),
            Down::Connected => {}
            Down::Fin | Down::Refused => self.broken(now, effects),
        }
        true
    }

    fn broken(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Greeting { .. }) {
            return self.attempt_failed(now, effects);
        }
        self.change(LinkState::Down, effects);
        self.fail_in_flight(WireError::ConnectionLoss, effects);
        self.reconnect(now);
    }

    fn heard(&mut self, frame: &[u8], effects: &mut Vec<Effect>) {
        let Some(head) = ReplyHead::of(frame) else { return };
        match head.xid {
            XID_EVENT => {
                let (path, Some(event)) = (event_path(frame), frames::event(frame)) else { return };
                tell!(self.sim, "h{} hears {event:?} {}", self.host, short(&path));
                self.sim.go_on(self.host);
                let (watchers, dangling) = self.watches.fire(&path, event);
                for watcher in watchers {
                    if event == Event::Deleted {
                        self.sim.ledger.told_gone(watcher.task, &path, self.sim.steps());
                    }
                    effects.push(Effect::Run(Box::new(move || _ = watcher.sender.send(event))));
                }
                if let Some(dangling) = dangling {
                    self.send(removal(dangling));
                }
            }
            XID_PING => {
                self.in_flight.remove(&XID_PING);
                self.is_pinging = false;
            }
            xid => {
                self.last_zxid = self.last_zxid.max(head.zxid);
                if let Some(operation) = self.in_flight.remove(&xid) {
                    self.answered(operation, head.err, &frame[20..], effects);
                }
            }
        }
    }

    fn answered(&mut self, operation: Operation, err: i32, body: &[u8], effects: &mut Vec<Effect>) {
        let Operation { watch, answer, .. } = operation;
        let is_there = err == 0;
        let mut set = None;
        let mut is_answered = is_there;
        if let Some(wish) = watch {
            // A node that is missing is watched, too, by who asked whether it exists.
            is_answered |= wish.kind == Kind::Exist && err == Code::NoNode as i32;
            if is_answered {
                set = Some(self.watches.add(&wish, is_there));
            }
            for late in self.watches.settled(&wish, is_answered) {
                self.send(removal(late));
            }
        }
        let Some(answer) = answer else { return };
        self.unanswered -= 1;
        let result = match is_answered {
            true => Ok(Reply { is_there, body: body.to_vec(), watch: set }),
            false => Err(frames::refusal(err)),
        };
        effects.push(Effect::Run(Box::new(move || answer(result))));
    }

    fn write(&mut self, _now: Instant) -> bool {
        let Phase::Serving { is_halted: false } = self.phase else { return false };
        match self.asked.pop_front() {
            Some(Asked::Operation(operation)) => {
                if let Some(wish) = &operation.watch {
                    self.watches.setting(wish);
                }
                self.send(operation);
            }
            Some(Asked::ForgetWatch(id)) => {
                if let Some(due) = self.watches.forget(id) {
                    self.send(removal(due));
                }
            }
            None if self.is_closing && self.unanswered == 0 => {
                let frame = frames::request(Op::CLOSE, |_| {});
                self.send(Operation { frame, watch: None, answer: None });
                self.phase = Phase::Serving { is_halted: true };
            }
            None => return false,
        }
        true
    }

    fn tick(&mut self, now: Instant, effects: &mut Vec<Effect>) -> bool {
        if now < self.tick_at {
            return false;
        }
        self.tick_at = now + self.times.tick;
        if now >= self.last_heard + self.times.silence {
            tell!(self.sim, "h{} hears nothing and hangs up", self.host);
            self.broken(now, effects);
        } else if matches!(self.phase, Phase::Serving { .. })
            && !self.is_pinging
            && now >= self.last_sent + self.times.ping
        {
            self.ping(now);
        }
        true
    }

    fn ping(&mut self, now: Instant) {
        let operation = Operation { frame: frames::request(Op::PING, |_| {}), watch: None, answer: None };
        self.send_as(XID_PING, operation);
        (self.last_sent, self.is_pinging) = (now, true);
    }

    fn send(&mut self, operation: Operation) {
        self.next_xid += 1;
        self.last_sent = self.sim.transport_now(self.host);
        self.send_as(self.next_xid, operation);
    }

    pub(super) fn send_as(&mut self, xid: i32, mut operation: Operation) {
        frames::number(&mut operation.frame, xid);
        self.post(operation.frame.clone());
        self.in_flight.insert(xid, operation);
    }

    pub(super) fn post(&self, frame: Vec<u8>) {
        if let Some(conn) = self.conn {
            Net::send(&self.sim, conn, frame);
        }
    }
}
