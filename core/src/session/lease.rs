//! The lease clock: until when the server certainly still honours our session.
//!
//! An answered ping or read proves little: a follower cut off from its leader answers both by itself, so neither counts
//! here. A **quorum write** (a beat) is answered only through the leader, over the same FIFO channel on which the
//! follower, every half tick, reports which sessions it heard from; so is a `sync` (a contact), but a deposed leader
//! answers that, too. So while nothing stands still, every contact that was answered a while before a beat left has
//! reached the leader's session clock when the beat is answered, and the session lives until T after that contact left.
//! That while is called *settled*: half a tick and T/12, or T/3 where nobody has said how long a tick is.
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
//!   between. It left no more than T/2 before *t*; 2T/3 where the tick is known, and is no more than T/4.
//! - the *anchor*: settled before the witness left, and left so late that by it alone the session would still be certain
//!   at *t*. A lease that is still in force at *t* is as good.
//!
//! Why that is enough: let there be one pause, of the leader, the follower or the way between them, from before the
//! contact was answered until *t*. Without one, or if it was over before the contact was answered, what is settled has
//! arrived. The witness cuts the rest in two.
//!
//! - Before the witness was answered: then the leader was awake for T/12 before *k*, asked as soon as it woke, and was
//!   told of the contact ahead of the beat. A session whose beat was accepted after that lives for T from then.
//! - After the witness had reached the leader: then nothing stood still before the witness left, so the leader knows of
//!   the anchor, and the session does not end before *t* and the margin. By *t* the pause is over, the leader has
//!   asked, and the answer, which tells of the contact, is there within the margin.
//!
//! Without the anchor a client that was silent for long before the contact could be deceived by a pause of a tenth of T.
//!
//! # What a pause may cost
//!
//! A beat leaves every T/8. With answers that take less than T/24, the contact is the beat three before, the witness the
//! last one, and the lease is in force. Then 13T/24 are left when a beat leaves that is answered at once, and 5T/12 less
//! the time of an answer before the next one is answered; that answer has to come within T/2 of its witness's leaving. So a
//! pause of 3T/8 less the answer's time costs nothing, whatever stands still and whenever; [`Lease::tolerates`] promises
//! 3T/10. With a known tick of T/4 or less the contact is the beat before last, and the promise T/2. With one of more than T/2,
//! which T was cut to, the contact is an older beat, and 3T/4 less the tick is promised, or T/20 if that is more.
//!
//! What is due after a late answer, such as the one that ends a pause, leaves as soon as it can extend the lease. An idle
//! client makes contact as often as a holder beats; the create of an acquisition is its first beat, and finds a contact
//! that is T/3 + T/8 old at most. So the beat behind it leaves sooner, if it can extend the lease then.
//!
//! # What is assumed
//!
//! - Between two pauses the servers run for as long as it takes to settle: long enough to ask once and be told. Pauses with
//!   less in between can look like none; the witness's age bounds what they can do, but does not rule it out.
//! - T ≥ 2 ticks, which servers enforce by default, so that half a tick is T/4 at most; or the tick is the one that was
//!   given. The T/12 beside it, like the margin, is for a slow network and for threads that wait for a processor.
//! - An observer that follows the leader is asked and tells like a follower. One that follows a follower
//!   (`observerMasterPort`) tells that follower every half tick, and it tells the leader when asked next: up to a tick in
//!   all. That is within the T/3 if T ≥ 4 ticks, so behind such an observer T has to be that long, and the tick that is
//!   given has to be doubled. The margin does not grow for it: no client can tell what kind of server it talks to, and
//!   another quarter of T would leave none of the slack that every other client lives by.
//! - T stays what it was at first: a server whose maxSessionTimeout was lowered meanwhile would shorten it at a
//!   reconnection, which is not heeded.
//!
//! Reconnections are safe: re-attaching makes the new server ask the leader, which touches the session after every
//! request that had been answered before.
//!
//! # Relaxed
//!
//! A client that asked for a relaxed lease is certain until 2T/3 after the newest answered contact left, whoever answered
//! it: a deposed leader, too, or a leader that had not been told of the contact yet.

use std::collections::VecDeque;
use std::time::Duration;

use super::clock::Moment;
use crate::options::{LeaseMode, LeaseTerms};

/// What is known about how long the server keeps one session.
#[derive(Debug)]
pub(crate) struct Lease {
    timeout: Duration,
    terms: LeaseTerms,
    /// Requests that were answered through the leader, oldest first, thinned out.
    contacts: VecDeque<Contact>,
    certain_until: Moment,
    last_contact: Moment,
    last_beat: Moment,
    /// When the heart itself last sent something.
    last_own: Moment,
    /// When the newest beat left that was answered, and how long the last answer took.
    answered_beat: Moment,
    round_trip: Duration,
}

#[derive(Copy, Clone, Debug)]
struct Contact {
    sent: Moment,
    answered: Moment,
}

impl Lease {
    /// A session that was asked for at `asked` and granted at `granted`.
    pub(crate) fn new(timeout: Duration, terms: LeaseTerms, asked: Moment, granted: Moment) -> Lease {
        let mut lease = Lease {
            timeout,
            terms,
            contacts: VecDeque::from([Contact { sent: asked, answered: granted }]),
            certain_until: Moment::START,
            last_contact: asked,
            last_beat: asked,
            last_own: asked,
            answered_beat: asked,
            round_trip: granted.since(asked),
        };
        lease.extend(asked);
        lease
    }

    /// How long one pause may be, of the server, the network or this process, which never costs what is held: if answers
    /// take less than T/25, and the pause before ended T/2 ago. A tick of more than T/2 takes longer than T/3 to settle, and
    /// leaves less.
    pub(crate) fn tolerates(timeout: Duration, terms: LeaseTerms) -> Duration {
        match (terms.mode, terms.server_tick) {
            (LeaseMode::Relaxed, _) => timeout * 2 / 5,
            (LeaseMode::Strict, _) if terms.is_quick(timeout) => timeout / 2,
            (LeaseMode::Strict, Some(tick)) if tick > timeout => Duration::ZERO,
            (LeaseMode::Strict, Some(tick)) if tick > timeout / 2 => {
                (timeout * 3 / 4).saturating_sub(tick).max(timeout / 20)
            }
            (LeaseMode::Strict, _) => timeout * 3 / 10,
        }
    }

    /// How often to beat, or to make contact.
    pub(crate) fn interval(&self) -> Duration {
        self.timeout / 8
    }

    /// Clock drift, scheduling, and the rounding of the server's ticks.
    fn margin(&self) -> Duration {
        self.timeout / 12
    }

    /// After how long the leader has been told of what was answered. A tick that is too long for the timeout makes it longer
    /// than T/3: then that is how it is.
    fn settled(&self) -> Duration {
        self.terms.server_tick.map_or(self.timeout / 3, |tick| tick / 2 + self.margin())
    }

    /// How old a witness may be when the beat is answered.
    fn witness_age(&self) -> Duration {
        if self.terms.is_quick(self.timeout) { self.timeout * 2 / 3 } else { self.timeout / 2 }
    }

    /// Hardly less than is left when a beat is due and all is as usual. With less the next one leaves when it is of use.
    fn plenty(&self) -> Duration {
        match self.terms.mode {
            // Usual is 13T/24, and 5T/12 where it takes T/3 to settle.
            LeaseMode::Strict if self.terms.is_quick(self.timeout) => self.timeout * 51 / 96,
            LeaseMode::Strict => {
                let spent = self.settled() + self.interval() + self.margin() + self.timeout / 16;
                self.timeout.saturating_sub(spent)
            }
            LeaseMode::Relaxed => self.timeout * 5 / 12,
        }
    }

    /// Nothing before this moment is in doubt.
    pub(crate) fn certain_until(&self) -> Moment {
        self.certain_until
    }

    /// Certain for long enough to take something on. As much has to be left as a pause may take, unless the beats come as
    /// they should: then the next answer extends the lease before that. There is never more with answers that are slow. Behind
    /// a pause that took most of the lease, no answer may extend what is left.
    pub(crate) fn is_firm(&self, now: Moment) -> bool {
        let moment = self.timeout / 24;
        let is_extended = || self.next_extension(now) + self.round_trip.max(moment) < self.certain_until;
        self.is_nearly_firm(now) && (self.certain_until.since(now) >= self.plenty() + moment || is_extended())
    }

    /// The same, though the next answer may extend nothing.
    fn is_nearly_firm(&self, now: Moment) -> bool {
        let (left, moment) = (self.certain_until.since(now), self.timeout / 24);
        let is_beating = now <= self.answered_beat + self.interval() + self.round_trip.max(moment);
        left > self.timeout / 8 && (is_beating || left >= self.plenty() + moment)
    }

    /// Certain for long enough for who has waited for that since then: after half a session timeout what is nearly firm is enough,
    /// as on a network that stalls again and again there may never be more.
    pub(crate) fn is_firm_enough(&self, now: Moment, since: Moment) -> bool {
        self.is_firm(now) || now >= since + self.timeout / 2 && self.is_nearly_firm(now)
    }

    /// When the next beat that extends the lease leaves, or has left, if all goes on as usual.
    fn next_extension(&self, now: Moment) -> Moment {
        let soonest = self.could_extend().unwrap_or(Moment::START);
        let mut under_way = self.answered_beat + self.interval();
        while under_way < soonest && under_way < self.last_beat {
            under_way = under_way + self.interval();
        }
        match under_way >= soonest && under_way <= self.last_beat {
            true => under_way,
            // It waits for the next regular one so long at most.
            false => soonest.max(now) + self.timeout / 24,
        }
    }

    /// A contact, perhaps a beat, leaves.
    pub(crate) fn sent(&mut self, at: Moment, is_beat: bool) {
        self.last_contact = self.last_contact.max(at);
        if is_beat {
            self.last_beat = self.last_beat.max(at);
        }
    }

    /// The next contact or beat is the heart's.
    pub(crate) fn beats(&mut self, at: Moment) {
        self.last_own = self.last_own.max(at);
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
        let regular = self.last_beat + self.interval();
        let is_late = self.answered_beat < self.last_beat;
        if is_late || regular + self.plenty() <= self.certain_until {
            return regular;
        }
        // What extends the lease now should: the last answer was late, or the last beat was that of an acquisition, which may
        // come at a bad moment between two contacts.
        let soonest = (self.last_own + self.margin()).max(self.last_beat + self.timeout / 48);
        // Hardly later is better than a beat that just fails to extend it.
        let latest = regular + self.timeout / 24;
        let useful = self.could_extend().map(|moment| moment.max(soonest));
        useful.filter(|moment| *moment <= latest).unwrap_or(regular)
    }

    /// When a word from the server is wanted, whoever says it, so that a pause as long as is promised does not look like a
    /// server that is gone: a connection on which nothing comes is given up before the session ends. A relaxed lease can
    /// spare the answers that are lost with it.
    pub(crate) fn listens(&self) -> Option<Moment> {
        (self.terms.mode == LeaseMode::Strict).then(|| self.last_contact + self.timeout / 16)
    }

    /// When the first beat could leave that extends the lease, of what is known to have been answered; or, where that takes
    /// an anchor, that could be the witness of such a beat.
    fn could_extend(&self) -> Option<Moment> {
        if self.terms.mode == LeaseMode::Relaxed {
            return None;
        }
        let settles = |contact: &Contact| contact.answered + self.settled();
        let until = |contact: &Contact| self.certain_by(Some(contact.sent));
        // Of contacts that left and were answered later a beat could make use no sooner.
        let news = self.contacts.iter().find(|contact| until(contact) > self.certain_until)?;
        let mut witnesses = self.contacts.iter().filter(|witness| witness.sent >= news.answered);
        let with_a_witness = witnesses.find_map(|witness| {
            let moment = settles(news).max(witness.answered + self.margin());
            let mut anchors = self.contacts.iter().filter(|anchor| settles(anchor) <= witness.sent);
            let is_anchored = moment < self.certain_until || anchors.any(|anchor| moment < until(anchor));
            is_anchored.then_some(moment)
        });
        Some(with_a_witness.unwrap_or_else(|| settles(news)))
    }

    /// A contact that left at `sent` was answered; `is_beat` if only the quorum can have answered it.
    pub(crate) fn answered(&mut self, sent: Moment, now: Moment, is_beat: bool) {
        if is_beat {
            self.answered_beat = self.answered_beat.max(sent);
            self.round_trip = now.since(sent);
        }
        if self.terms.mode == LeaseMode::Relaxed {
            self.extend(sent);
        } else if is_beat && let Some(heard) = self.vouched_for(sent, now) {
            self.extend(heard);
            // What a later beat needs for a witness left after this, and what it needs for an anchor is the lease.
            self.contacts.retain(|contact| contact.sent >= heard);
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
        let settled = self.settled();
        let newest = |counts: &dyn Fn(&Contact) -> bool| {
            self.contacts.iter().filter(|contact| counts(contact)).map(|contact| contact.sent).max()
        };
        // The newest is the best, for the contact as for the anchor.
        let witness = newest(&|contact| contact.answered + self.margin() <= sent)?;
        let is_fresh = witness + self.witness_age() >= now;
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
        let until = match self.terms.mode {
            LeaseMode::Strict => self.certain_by(Some(heard)),
            LeaseMode::Relaxed => heard + self.timeout * 2 / 3,
        };
        self.certain_until = self.certain_until.max(until);
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod pauses;
#[cfg(test)]
mod tests;
