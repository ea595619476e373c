//! Who reads a socket: the thread that drives, or the task that serves the session, which leaves it to that thread and takes it
//! away if that does not come to it.

use std::io::{self, ErrorKind};

use super::Due;
use super::socket::{SPACE, Socket};
use super::state::ConnectionState;
use super::trust::Trust;
use crate::session::clock::Moment;
use crate::session::wire::Trouble;

/// How far a stream is read.
#[derive(Copy, Clone)]
pub(super) enum Extent {
    /// Until nothing is there.
    All,
    /// Until less is there than is read at once.
    UntilShort,
}

/// What has become of reading.
#[derive(Copy, Clone)]
pub(super) struct Was {
    pub(super) is_open: bool,
    /// Something was there.
    something: bool,
    /// As much as is read at once, so there is more as a rule.
    is_full: bool,
}

impl Was {
    /// What is still to be read.
    fn left(self, extent: Extent) -> Option<Extent> {
        let goes_on = match extent {
            Extent::All => self.something,
            Extent::UntilShort => self.is_full,
        };
        goes_on.then_some(extent)
    }
}

impl ConnectionState<Socket> {
    /// What the task that serves the session does when it comes: because there is something to be read, if that is said, or because
    /// it is due. Answers what it has to do, what is still to be read, and whether it has to come again soon.
    pub(super) fn visit(
        &mut self,
        ready: Option<Extent>,
        is_due: bool,
        now: Moment,
    ) -> (Due, Option<Extent>, bool) {
        let more = self.read_or_leave_it(ready, is_due, now);
        (self.look(now), more, self.watch())
    }

    /// Reads what is there, or about as much as is read at once.
    pub(super) fn read(&mut self, now: Moment) -> Was {
        let nothing = Was { is_open: false, something: false, is_full: false };
        let Some(socket) = &mut self.channel else { return nothing };
        let machine = &mut self.machine;
        let received = socket.receive(|bytes| machine.received(bytes, now));
        socket.counters.bytes_received.add(machine.bytes_answered());
        match received {
            Ok(Some(0)) => machine.hung_up(Trouble::closed("the server closed the connection"), now),
            Ok(read) => {
                let is_open = machine.wants(socket.attempt);
                return Was { is_open, something: read.is_some(), is_full: read == Some(SPACE) };
            }
            Err(error) => machine.hung_up(broken(&error, socket.trust.as_deref()), now),
        }
        nothing
    }

    /// Reads unless a thread drives that comes to it. Answers what is left.
    fn read_or_leave_it(&mut self, ready: Option<Extent>, is_due: bool, now: Moment) -> Option<Extent> {
        // Due, one has driven a moment ago, and may have been stopped before it had handed back.
        let due = is_due.then_some(Extent::All);
        if self.driver.is_none() {
            let extent = due.or(ready)?;
            return self.read(now).left(extent);
        }
        if !is_due {
            // It was armed late; or it is at its end, which a second arming would tell again.
            if ready.is_some() && self.disarmed_for != self.driver {
                self.disarmed_for = self.driver;
                self.arm();
            }
            return None;
        }
        let was = self.read(now);
        if was.something || !was.is_open {
            self.driver = None;
        }
        was.left(Extent::All)
    }

    /// Arms the channel, unless it is. Whether the I/O thread has to come again soon.
    fn watch(&mut self) -> bool {
        let was_driven = std::mem::take(&mut self.was_driven);
        if was_driven || !self.is_armed() {
            self.arm();
        }
        self.is_watched = was_driven || self.driver.is_some();
        self.is_watched
    }
}

fn broken(error: &io::Error, trust: Option<&Trust>) -> Trouble {
    // With TLS 1.3 a server says only after the handshake that it does not like our certificate.
    if let Some(trouble) = trust.and_then(|trust| trust.refused(error)) {
        return trouble;
    }
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            Trouble::closed(error.to_string())
        }
        _ => error.to_string().into(),
    }
}
