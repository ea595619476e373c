//! The lease clock: until when the server certainly still honours our session.
//!
//! An answered ping or read proves little: a follower cut off from its leader answers both by itself, so neither counts
//! here. A **quorum write** (a beat) is answered only through the leader, over the same FIFO channel on which the
//! follower, every half tick, reports which sessions it heard from; so is a `sync` (a contact), but a deposed leader
//! answers that, too. So when a beat is answered, every contact that was answered at least T/3 before that beat left has
//! reached the leader's session clock, and the session lives until T after that contact left. Contacts have to be kept
//! up while nothing is held, or the first beat of an acquisition would have nothing to vouch for. A session's creation
//! is done by the leader itself and needs no second beat.
//!
//! The rule is safe across reconnections: re-attaching makes the new server ask the leader, which touches the session
//! after every request that had been answered before. It assumes T ≥ 2 ticks, which servers enforce by default,
//! and that T stays what it was at first: a server whose maxSessionTimeout was lowered meanwhile would shorten it at a
//! reconnection, and the crate does not tell.

use std::collections::VecDeque;
use std::time::Duration;

use super::clock::Moment;

/// What is known about the server's patience with one session.
#[derive(Debug)]
pub(crate) struct Lease {
    timeout: Duration,
    /// Requests that were answered through the leader, oldest first, thinned out.
    contacts: VecDeque<Contact>,
    certain_until: Moment,
    last_contact: Moment,
    last_beat: Moment,
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

    /// When the next request should leave to keep the lease, with or without somebody who depends on it.
    pub(crate) fn due(&self, needed: bool) -> Moment {
        if !needed {
            return self.last_contact + self.interval();
        }
        // Sooner if what is certain would end before the answer can be expected.
        let in_time = (self.certain_until - self.timeout / 8).max(self.last_beat + self.timeout / 12);
        (self.last_beat + self.interval()).min(in_time)
    }

    /// A contact that left at `sent` was answered; `is_beat` if only the quorum can have answered it.
    pub(crate) fn answered(&mut self, sent: Moment, now: Moment, is_beat: bool) {
        if is_beat {
            let settled = self.timeout / 3;
            let heard = self
                .contacts
                .iter()
                .filter(|contact| contact.answered + settled <= sent)
                .map(|contact| contact.sent)
                .max();
            if let Some(heard) = heard {
                self.extend(heard);
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

    fn extend(&mut self, heard: Moment) {
        self.certain_until = self.certain_until.max(heard + self.timeout - self.margin());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Duration = Duration::from_millis(12_000);

    fn at(ms: u64) -> Moment {
        Moment::START + Duration::from_millis(ms)
    }

    fn lease() -> Lease {
        Lease::new(T, at(1000), at(1010))
    }

    #[test]
    fn a_new_session_is_certain_from_when_it_was_asked_for() {
        assert_eq!(lease().certain_until(), at(1000 + 11_000));
    }

    #[test]
    fn one_beat_alone_extends_nothing() {
        let mut lease = lease();
        lease.answered(at(2000), at(2010), true);
        assert_eq!(lease.certain_until(), at(12_000));
    }

    #[test]
    fn a_beat_vouches_for_what_was_answered_a_third_before_it_left() {
        let mut lease = lease();
        lease.answered(at(4000), at(4010), true);
        lease.answered(at(7000), at(7010), true);
        // 7000 was answered at 7010, and 10_000 left 2990 after that: less than T/3, so only 4000 counts.
        lease.answered(at(10_000), at(10_010), true);
        assert_eq!(lease.certain_until(), at(4000 + 11_000));
    }

    #[test]
    fn contacts_are_vouched_for_but_never_vouch() {
        let mut lease = lease();
        for ms in (2000..60_000).step_by(1000) {
            lease.answered(at(ms), at(ms + 10), false);
        }
        assert_eq!(lease.certain_until(), at(12_000));
        lease.answered(at(61_000), at(61_010), true);
        // The newest contact answered at least 4000 before 61_000 left at 56_000.
        assert_eq!(lease.certain_until(), at(56_000 + 11_000));
    }

    #[test]
    fn a_slow_answer_counts_from_when_it_left() {
        let mut lease = lease();
        lease.answered(at(2000), at(9000), false);
        lease.answered(at(14_000), at(14_010), true);
        assert_eq!(lease.certain_until(), at(2000 + 11_000));
    }

    #[test]
    fn beating_every_quarter_keeps_a_sixth_of_slack() {
        let mut lease = lease();
        let mut sent = 1000;
        for _ in 0..40 {
            sent += 3000;
            lease.answered(at(sent), at(sent + 10), true);
            assert!(lease.certain_until() >= at(sent + 3000) + T / 6 - Duration::from_millis(10));
        }
    }

    #[test]
    fn a_busy_session_keeps_few_contacts() {
        let mut lease = lease();
        for ms in 0..100_000 {
            lease.answered(at(2000 + ms), at(2001 + ms), true);
        }
        assert!(lease.contacts.len() < 70, "{}", lease.contacts.len());
        assert!(lease.certain_until() > at(100_000));
    }
}
