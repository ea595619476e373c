//! What vouches for what, case by case.

use super::*;

const T: Duration = Duration::from_millis(12_000);

fn at(ms: u64) -> Moment {
    Moment::START + Duration::from_millis(ms)
}

fn lease() -> Lease {
    Lease::new(T, LeaseTerms::default(), at(1000), at(1010))
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
    lease.answered(at(2000), at(5000), false);
    lease.answered(at(9500), at(9510), false);
    lease.answered(at(11_000), at(11_010), true);
    assert_eq!(lease.certain_until(), at(2000 + 11_000));
}

#[test]
fn beating_every_eighth_keeps_five_twelfths_of_slack() {
    let mut lease = lease();
    let mut sent = 1000;
    for _ in 0..40 {
        sent += 1500;
        lease.answered(at(sent), at(sent + 10), true);
        assert!(lease.certain_until() >= at(sent + 1500) + T * 5 / 12 - Duration::from_millis(10));
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

/// Beats every quarter with quick answers up to `last`, then some that a leader that stands still answers on waking.
fn after_a_pause(timeout: u64, last: u64, waiting: &[u64], woke: u64) -> (Moment, Moment) {
    let mut lease = Lease::new(Duration::from_millis(timeout), LeaseTerms::default(), at(0), at(5));
    for sent in (timeout / 4..=last).step_by(timeout as usize / 4) {
        lease.answered(at(sent), at(sent + 5), true);
    }
    let before = lease.certain_until();
    for sent in waiting.iter().filter(|sent| **sent < woke) {
        lease.answered(at(*sent), at(woke), true);
    }
    (before, lease.certain_until())
}

#[test]
fn what_a_leader_answers_on_waking_vouches_for_nothing() {
    // It asks every second, at the latest just before the beat at 10 s, and stands still from just after that.
    for pause in (2400..=3600).step_by(50) {
        let (before, after) = after_a_pause(4000, 10_000, &[11_000, 11_400, 11_800, 12_200], 10_010 + pause);
        assert_eq!(after, before, "a pause of {pause} ms");
        // It knows of the beat at 9 s, and may end the session 4 s after that.
        assert!(after <= at(9000 + 4000));
    }
    for pause in (5500..=10_500).step_by(100) {
        let waiting = [27_500, 28_400, 29_200, 30_100, 32_500];
        let (before, after) = after_a_pause(10_000, 25_000, &waiting, 25_010 + pause);
        assert_eq!(after, before, "a pause of {pause} ms");
        assert!(after <= at(22_500 + 10_000));
    }
}

#[test]
fn a_witness_left_no_more_than_half_a_timeout_ago() {
    for (answered, certain) in [(14_090, 4000 + 11_000), (14_110, 12_000)] {
        let mut lease = lease();
        lease.answered(at(4000), at(4010), false);
        lease.answered(at(8100), at(8110), false);
        lease.answered(at(10_000), at(answered), true);
        assert_eq!(lease.certain_until(), at(certain), "answered at {answered}");
    }
}

#[test]
fn a_witness_leaves_after_the_contact_was_answered() {
    for (answered, certain) in [(7490, 4000 + 11_000), (7510, 12_000)] {
        let mut lease = lease();
        lease.answered(at(2000), at(2010), false);
        lease.answered(at(4000), at(answered), false);
        lease.answered(at(7500), at(7520), false);
        lease.answered(at(11_600), at(11_610), true);
        let known = if certain == 12_000 { 2000 + 11_000 } else { certain };
        assert_eq!(lease.certain_until(), at(known), "answered at {answered}");
    }
}

#[test]
fn a_witness_was_answered_a_while_before_the_beat_left() {
    for (answered, certain) in [(12_690, 9400 + 11_000), (12_710, 5000 + 11_000)] {
        let mut lease = lease();
        lease.answered(at(5000), at(5010), false);
        lease.answered(at(9400), at(9410), false);
        lease.answered(at(12_600), at(answered), false);
        lease.answered(at(13_700), at(13_710), true);
        assert_eq!(lease.certain_until(), at(certain), "answered at {answered}");
    }
}

#[test]
fn after_a_long_silence_two_contacts_and_a_beat_are_not_enough() {
    // The leader last heard of the session at 1 s, and may end it 12 s later: then a pause from 9.7 s to 13.7 s is enough.
    for (anchor, certain) in [(Some(5000), 9400 + 11_000), (None, 12_000)] {
        let mut lease = lease();
        if let Some(sent) = anchor {
            lease.answered(at(sent), at(sent + 10), false);
        }
        lease.answered(at(9400), at(9410), false);
        lease.answered(at(9600), at(9610), false);
        lease.answered(at(13_500), at(13_710), true);
        assert_eq!(lease.certain_until(), at(certain), "with {anchor:?}");
    }
}

#[test]
fn the_first_beat_after_an_idle_time_is_good_for_a_third_of_a_timeout() {
    for offset in (0..3000).step_by(50) {
        let mut lease = lease();
        for sent in (4000..=61_000).step_by(3000) {
            lease.sent(at(sent), false);
            lease.answered(at(sent), at(sent + 10), false);
        }
        let sent = 61_000 + offset;
        lease.sent(at(sent), true);
        lease.answered(at(sent), at(sent + 10), true);
        assert!(lease.certain_until() >= at(sent) + T / 3, "{offset} ms after the last contact");
    }
}

#[test]
fn doubt_is_over_after_five_twelfths_and_six_beats() {
    for latency in [1, 10, 100, 300] {
        let mut lease = lease();
        let begun = 100_000;
        let (mut now, mut beats) = (begun, 0);
        while at(now) + T / 8 >= lease.certain_until() {
            now = now.max(lease.due(true).since(Moment::START).as_millis() as u64 + 1);
            lease.sent(at(now), true);
            now += latency;
            lease.answered(at(now - latency), at(now), true);
            beats += 1;
        }
        assert!(beats <= 6, "{beats} beats");
        assert!(now - begun <= 5000 + 7 * latency + 10, "{} ms with answers after {latency}", now - begun);
    }
}

#[test]
fn a_beat_that_is_in_doubt_of_being_answered_is_followed_no_sooner_than_an_eighth_later() {
    let mut lease = lease();
    for ms in (2500..20_000).step_by(1500) {
        lease.sent(at(ms), true);
        lease.answered(at(ms), at(ms + 10), true);
    }
    lease.sent(at(20_500), true);
    assert_eq!(lease.due(true), at(22_000));
}

#[test]
fn a_late_answer_is_followed_by_a_beat_as_soon_as_it_can_extend_the_lease() {
    let mut lease = lease();
    let mut sent = 1000;
    for _ in 0..12 {
        sent += 1500;
        lease.beats(at(sent));
        lease.sent(at(sent), true);
        lease.answered(at(sent), at(sent + 10), true);
    }
    // The next three are answered together, after a pause.
    let waiting = [sent + 1500, sent + 3000, sent + 4500];
    for ms in waiting {
        lease.beats(at(ms));
        lease.sent(at(ms), true);
    }
    let woke = waiting[0] + 3600;
    for ms in waiting {
        lease.answered(at(ms), at(woke), true);
    }
    let (mut last, mut settled) = (waiting[2], false);
    while !settled {
        let due = lease.due(true).since(Moment::START).as_millis() as u64;
        assert!(due >= last + 1000, "one per T/12: {due} after {last}");
        assert!(due <= woke + 4000, "T/3 after the answer at the latest: {due} after {woke}");
        lease.beats(at(due));
        lease.sent(at(due), true);
        lease.answered(at(due), at(due + 10), true);
        settled = lease.certain_until() >= at(waiting[2]) + T * 11 / 12;
        last = due;
    }
}

#[test]
fn a_relaxed_lease_lasts_two_thirds_from_the_newest_answered_contact() {
    let terms = LeaseTerms { mode: LeaseMode::Relaxed, ..LeaseTerms::default() };
    let mut lease = Lease::new(T, terms, at(1000), at(1010));
    assert_eq!(lease.certain_until(), at(1000 + 8000));
    lease.answered(at(5000), at(8000), false);
    assert_eq!(lease.certain_until(), at(5000 + 8000));
    lease.sent(at(9000), true);
    assert_eq!((lease.due(true), lease.due(false)), (at(10_500), at(10_500)));
}

#[test]
fn a_known_tick_settles_sooner_and_one_that_is_too_long_later() {
    for (tick, certain) in [(2400, 5000), (6000, 3500), (9000, 2000)] {
        let terms = LeaseTerms { server_tick: Some(Duration::from_millis(tick)), ..LeaseTerms::default() };
        let mut lease = Lease::new(T, terms, at(1000), at(1010));
        for ms in [2000, 3500, 5000, 6500] {
            lease.answered(at(ms), at(ms + 10), false);
        }
        lease.answered(at(7600), at(7610), true);
        assert_eq!(lease.certain_until(), at(certain + 11_000), "a tick of {tick} ms");
    }
}

#[test]
fn what_is_left_of_a_firm_lease_is_enough_for_a_pause_unless_it_is_just_extended() {
    for (contact, is_extended) in [(None, false), (Some(6500), true)] {
        let mut lease = lease();
        assert!(lease.is_firm(at(1020)) && lease.is_firm(at(6700)));
        contact.iter().for_each(|sent| lease.answered(at(*sent), at(sent + 10), false));
        assert!(!lease.is_firm(at(8000)), "4 s are left, and no beat is answered");
        lease.sent(at(8000), true);
        lease.answered(at(8000), at(8010), true);
        assert_eq!(lease.is_firm(at(8020)), is_extended, "whether the next answer comes in time");
        assert!(!lease.is_firm(at(10_600)), "less than an eighth");
    }
}

#[test]
fn answers_that_take_an_eighth_keep_the_lease() {
    let mut lease = lease();
    let mut under_way = VecDeque::new();
    let mut has_begun = false;
    for now in (2000..200_000).step_by(10) {
        while let Some(sent) = under_way.pop_front_if(|sent| *sent + 1500 <= now) {
            lease.answered(at(sent), at(now), true);
        }
        if lease.due(true) <= at(now) {
            lease.sent(at(now), true);
            under_way.push_back(now);
        }
        let is_certain = at(now) < lease.certain_until();
        has_begun |= now > 20_000 && is_certain;
        assert!(now <= 20_000 || is_certain, "in doubt at {now}");
    }
    assert!(has_begun);
}
