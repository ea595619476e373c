//! The lease clock: until when the server certainly still honours our session.
//!
//! An answered ping or read proves little: a follower cut off from its leader answers both by itself, so neither counts
//! here. A **quorum write** (a beat) is answered only through the leader, over the same FIFO channel on which the
//! follower, every half tick, reports which sessions it heard from; so is a `sync` (a contact), but a deposed leader
//! answers that, too. So while nothing stands still, every contact that was answered at least T/3 before a beat left has
//! reached the leader's session clock when the beat is answered, and the session lives until T after that contact left.
//! Contacts have to be kept up while nothing is held, or the first beat of an acquisition would have nothing to vouch for.
//! A session's creation is done by the leader itself and needs no second beat.
//!
//! # When the leader pauses
//!
//! The follower reports only when the leader asks, and a leader that stands still (garbage collection, SIGSTOP) asks
//! nobody. On waking it may answer a beat that waited in line first, and end the session then. So a beat that left at *k*
//! and was answered at *t* vouches for a contact only together with two more:
//!
//! - the *witness*: it left after the contact was answered, and was answered T/12 before *k*, so the leader was awake in
//!   between. It left no more than T/2 before *t*.
//! - the *anchor*: answered at least T/3 before the witness left, and left so late that by it alone the session would
//!   still be certain at *t*. A lease that is still in force at *t* is as good.
//!
//! Why that is enough: let there be one pause, of the leader, the follower or the way between them, from before the
//! contact was answered until *t*. Without one, or if it was over before the contact was answered, the rule of T/3 holds by
//! itself. The witness cuts the rest in two.
//!
//! - Before the witness was answered: then the leader was awake for T/12 before *k*, asked as soon as it woke, and was
//!   told of the contact ahead of the beat. A session whose beat was accepted after that lives for T from then.
//! - After the witness had reached the leader: then nothing stood still before the witness left, so the leader knows of
//!   the anchor, and the session does not end before *t* and the margin. By *t* the pause is over, the leader has
//!   asked, and the answer, which tells of the contact, is there within the margin.
//!
//! Without the anchor a client that was silent for long before the contact could be deceived by a pause of a tenth of T.
//! At a beat per T/4 all this asks for nothing more: the contact is the beat before last, the witness the last one, and
//! the lease is in force.
//!
//! # What is assumed
//!
//! - Between two pauses the servers run for T/3: long enough to ask once and be told. Pauses with less in between can
//!   look like none; the T/2 of the witness bounds what they can do, but does not rule it out.
//! - T ≥ 2 ticks, which servers enforce by default, so that half a tick is T/4 at most. The T/12 to the T/3, like the
//!   margin, is for a slow network and for threads that wait for a processor.
//! - An observer that follows the leader is asked and tells like a follower. One that follows a follower
//!   (`observerMasterPort`) tells that follower every half tick, and it tells the leader when asked next: up to a tick in
//!   all. That is within the T/3 if T ≥ 4 ticks, so behind such an observer T has to be that long. The margin does not
//!   grow for it: no client can tell what kind of server it talks to, and another quarter of T would leave none of the
//!   slack that every other client lives by.
//! - T stays what it was at first: a server whose maxSessionTimeout was lowered meanwhile would shorten it at a
//!   reconnection, and the crate does not tell.
//!
//! Reconnections are safe: re-attaching makes the new server ask the leader, which touches the session after every
//! request that had been answered before.

use std::collections::VecDeque;
use std::time::Duration;

use super::clock::Moment;

/// What is known about how long the server keeps one session.
#[derive(Debug)]
pub(crate) struct Lease {
    timeout: Duration,
    /// Requests that were answered through the leader, oldest first, thinned out.
    contacts: VecDeque<Contact>,
    certain_until: Moment,
    last_contact: Moment,
    last_beat: Moment,
    /// When the last answer to a beat came, and how long it had taken.
    last_answer: Moment,
    round_trip: Duration,
}

#[derive(Copy, Clone, Debug)]
struct Contact {
    sent: Moment,
    answered: Moment,
}

impl Lease {
    /// A session that was asked for at `asked` and granted at `granted`.
    pub(crate) fn new(timeout: Duration, asked: Moment, granted: Moment) -> Lease {
        let mut lease = Lease {
            timeout,
            contacts: VecDeque::from([Contact { sent: asked, answered: granted }]),
            certain_until: Moment::START,
            last_contact: asked,
            last_beat: asked,
            last_answer: granted,
            round_trip: granted.since(asked),
        };
        lease.extend(asked);
        lease
    }

    /// How often to beat: with the T/3 of the rule and the margin this leaves T/6 for a slow answer.
    pub(crate) fn interval(&self) -> Duration {
        self.timeout / 4
    }

    /// Clock drift, scheduling, and the rounding of the server's ticks.
    fn margin(&self) -> Duration {
        self.timeout / 12
    }

    /// Nothing before this moment is in doubt.
    pub(crate) fn certain_until(&self) -> Moment {
        self.certain_until
    }

    /// A contact, perhaps a beat, leaves.
    pub(crate) fn sent(&mut self, at: Moment, is_beat: bool) {
        self.last_contact = self.last_contact.max(at);
        if is_beat {
            self.last_beat = self.last_beat.max(at);
        }
    }

    /// When the newest request left that was answered through the leader.
    pub(crate) fn newest_contact(&self) -> Moment {
        self.contacts.iter().map(|contact| contact.sent).max().unwrap_or(Moment::START)
    }

    /// When the next request should leave to keep the lease, with or without somebody who depends on it.
    pub(crate) fn due(&self, needed: bool) -> Moment {
        if !needed {
            return self.last_contact + self.interval();
        }
        // Sooner if what is certain would end before the answer can be expected. One beat can be the witness of the next if
        // that leaves a while after the answer, so wait for an answer that is quick.
        let eighth = self.timeout / 8;
        let aligned = (self.last_answer + self.margin()).min(self.last_beat + eighth);
        let soonest = aligned.max(self.last_beat + self.margin());
        let in_time = (self.certain_until - eighth - self.round_trip.min(eighth)).max(soonest);
        (self.last_beat + self.interval()).min(in_time)
    }

    /// A contact that left at `sent` was answered; `is_beat` if only the quorum can have answered it.
    pub(crate) fn answered(&mut self, sent: Moment, now: Moment, is_beat: bool) {
        if is_beat {
            self.last_answer = self.last_answer.max(now);
            self.round_trip = now.since(sent);
            if let Some(heard) = self.vouched_for(sent, now) {
                self.extend(heard);
                // What a later beat needs for a witness left after this, and what it needs for an anchor is the lease.
                self.contacts.retain(|contact| contact.sent >= heard);
            }
        }
        // A busy session would keep thousands; one per T/64 loses that much of the lease at most.
        let is_news = self.contacts.back().is_none_or(|last| sent >= last.sent + self.timeout / 64);
        if is_news {
            self.contacts.push_back(Contact { sent, answered: now });
        }
        // Only syncs for long: what is older than T cannot extend anything any more, but keep one to compare with.
        while self.contacts.len() > 1 && self.contacts[0].sent + self.timeout < now {
            self.contacts.pop_front();
        }
    }

    /// When the newest contact left that a beat vouches for which left at `sent` and was answered `now`.
    fn vouched_for(&self, sent: Moment, now: Moment) -> Option<Moment> {
        let settled = self.timeout / 3;
        let newest = |counts: &dyn Fn(&Contact) -> bool| {
            self.contacts.iter().filter(|contact| counts(contact)).map(|contact| contact.sent).max()
        };
        // The newest is the best, for the contact as for the anchor.
        let witness = newest(&|contact| contact.answered + self.margin() <= sent)?;
        let is_fresh = witness + self.timeout / 2 >= now;
        let anchor = newest(&|contact| contact.answered + settled <= witness);
        let is_anchored = self.certain_until.max(self.certain_by(anchor)) > now;
        if !(is_fresh && is_anchored) {
            return None;
        }
        newest(&|contact| contact.answered + settled <= sent && contact.answered <= witness)
    }

    /// Until when a contact keeps the session, once the leader knows of it.
    fn certain_by(&self, contact: Option<Moment>) -> Moment {
        contact.map_or(Moment::START, |sent| sent + self.timeout - self.margin())
    }

    fn extend(&mut self, heard: Moment) {
        self.certain_until = self.certain_until.max(self.certain_by(Some(heard)));
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
