//! What stands under the lock of a session: its machine, the connection that it has, and who drives that.

use super::{Answer, Channel, Due, Watcher};
use crate::session::clock::Moment;
use crate::session::wire::Trouble;
use crate::session::wire::machine::Machine;

pub(super) struct ConnectionState<C> {
    pub(super) machine: Machine<Answer, Watcher>,
    pub(super) channel: Option<C>,
    /// When the session was asked for that was granted, or is to be.
    pub(super) asked: Option<Moment>,
    /// The channel has not taken everything.
    pub(super) is_blocked: bool,
    /// The ticket of the thread that drives; none if the I/O thread does.
    pub(super) driver: Option<u64>,
    // Elsewhere no thread of a user drives.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code))]
    pub(super) tickets: u64,
    /// A thread has driven since the I/O thread last looked.
    pub(super) was_driven: bool,
    /// The I/O thread comes soon anyway.
    pub(super) is_watched: bool,
    /// For what the channel is armed, reading and writing, as far as that is known.
    pub(super) armed: Option<(bool, bool)>,
    /// The ticket for which the I/O thread has disarmed it once more.
    pub(super) disarmed_for: Option<u64>,
}

impl<C: Channel> ConnectionState<C> {
    pub(super) fn of(machine: Machine<Answer, Watcher>) -> ConnectionState<C> {
        ConnectionState {
            machine,
            channel: None,
            asked: None,
            is_blocked: false,
            driver: None,
            tickets: 0,
            was_driven: false,
            is_watched: false,
            armed: None,
            disarmed_for: None,
        }
    }

    /// Sends what can be sent now. False if the I/O thread has to see to the rest.
    pub(super) fn flush(&mut self) -> bool {
        let Some(channel) = &mut self.channel else { return true };
        // Of an error, reading will tell why; to wait until it takes more would be no use.
        let is_flushed = channel.send(self.machine.outgoing()).unwrap_or(true);
        self.is_blocked = !is_flushed;
        is_flushed
    }

    /// For what the I/O thread has to come.
    fn wanted(&self) -> (bool, bool) {
        (self.driver.is_none(), self.is_blocked)
    }

    pub(super) fn arm(&mut self) {
        if let Some(channel) = &self.channel {
            let (reads, writes) = self.wanted();
            channel.arm(reads, writes);
            self.armed = Some((reads, writes));
        }
    }

    pub(super) fn is_armed(&self) -> bool {
        self.armed == Some(self.wanted())
    }

    /// The attempt's channel, or none.
    fn replace(&mut self, channel: Option<C>) {
        self.channel = channel;
        self.driver = None;
        // As it is made.
        self.armed = Some((true, false));
        self.is_blocked = false;
    }

    /// What became of an attempt to connect. One that is of no use any more is dropped.
    pub(super) fn connected(&mut self, attempt: u64, channel: Result<C, Trouble>, now: Moment) {
        match channel {
            _ if !self.machine.wants(attempt) => {}
            Ok(channel) => {
                self.replace(Some(channel));
                self.machine.connected(now);
                if self.machine.session_id() == 0 {
                    // With the hello, which leaves as soon as it can: no server has granted a session before.
                    self.asked = Some(now);
                }
            }
            Err(trouble) => self.machine.hung_up(trouble, now),
        }
    }

    pub(super) fn has(&self, attempt: u64) -> bool {
        self.channel.as_ref().is_some_and(|channel| channel.attempt() == attempt)
            && self.machine.wants(attempt)
    }

    /// Looks at the clock, sends what waits, and drops a channel that is of no use any more.
    pub(super) fn look(&mut self, now: Moment) -> Due {
        self.machine.tick(now);
        if self.channel.as_ref().is_some_and(|channel| !self.machine.wants(channel.attempt())) {
            self.replace(None);
        }
        let is_blocked = !self.flush();
        let machine = &mut self.machine;
        Due {
            is_over: machine.is_over(),
            dial: machine.dial(),
            question: machine.question(),
            wake_at: machine.wake_at(),
            is_blocked,
        }
    }
}
