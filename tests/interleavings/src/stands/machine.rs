//! In the place of what knows the protocol, which has no threads: requests are numbers of one byte, and so are their answers.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Event, Link, LinkState, Trouble, WireError};
use crate::hosts::Server;
use crate::session::clock::Moment;

pub(crate) trait Answering {}

pub(crate) enum Output<A, W> {
    Answered(A, Result<Vec<u8>, WireError>),
    Told(W, Event),
    Failed(String, Duration),
}

pub(crate) struct Machine<A, W> {
    link: Link,
    waiting: BTreeMap<u8, A>,
    outgoing: Vec<u8>,
    outputs: Vec<Output<A, W>>,
    has_dialled: bool,
}

const ATTEMPT: u64 = 1;

impl<A: Answering, W> Machine<A, W> {
    pub(crate) fn new() -> Machine<A, W> {
        Machine {
            link: Link { generation: 0, state: LinkState::Down },
            waiting: BTreeMap::new(),
            outgoing: Vec::new(),
            outputs: Vec::new(),
            has_dialled: false,
        }
    }

    pub(crate) fn request(&mut self, number: u8, answer: A) {
        assert!(self.waiting.insert(number, answer).is_none(), "each has its own");
        self.outgoing.push(number);
    }

    pub(crate) fn received(&mut self, bytes: &[u8], _now: Moment) {
        for number in bytes {
            let answer = self.waiting.remove(number).expect("it is answered once, and to who has asked");
            self.outputs.push(Output::Answered(answer, Ok(vec![*number])));
        }
    }

    pub(crate) fn connected(&mut self, _now: Moment) {
        self.link = Link { generation: self.link.generation + 1, state: LinkState::Up };
    }

    /// There is no second connection.
    pub(crate) fn hung_up(&mut self, _trouble: impl Into<Trouble>, _now: Moment) {
        self.give_up();
    }

    pub(crate) fn give_up(&mut self) {
        self.link.state = LinkState::Ended;
        for answer in std::mem::take(&mut self.waiting).into_values() {
            self.outputs.push(Output::Answered(answer, Err(WireError::SessionEnded)));
        }
    }

    pub(crate) fn link(&self) -> Link {
        self.link
    }

    /// Of each connection another one, so that it is seen whose what is read is.
    pub(crate) fn session_id(&self) -> u64 {
        self.link.generation * 7
    }

    pub(crate) fn session_timeout(&self) -> Duration {
        Duration::from_nanos(self.link.generation)
    }

    pub(crate) fn server(&self) -> Option<&Server> {
        None
    }

    pub(crate) fn cause(&self) -> Option<&str> {
        None
    }

    pub(crate) fn is_over(&self) -> bool {
        self.link.state == LinkState::Ended
    }

    pub(crate) fn outputs(&mut self) -> Vec<Output<A, W>> {
        std::mem::take(&mut self.outputs)
    }

    pub(crate) fn bytes_answered(&mut self) -> usize {
        0
    }

    pub(crate) fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    pub(crate) fn tick(&mut self, _now: Moment) {}

    pub(crate) fn dial(&mut self) -> Option<(u64, Server)> {
        (!std::mem::replace(&mut self.has_dialled, true)).then_some((ATTEMPT, Server))
    }

    pub(crate) fn question(&mut self) -> Option<(u64, Server)> {
        None
    }

    pub(crate) fn wants(&self, attempt: u64) -> bool {
        attempt == ATTEMPT && !self.is_over()
    }

    pub(crate) fn owes_since(&self) -> Option<Moment> {
        None
    }

    pub(crate) fn wake_at(&self) -> Option<Moment> {
        None
    }
}
