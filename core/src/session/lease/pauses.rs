//! What pauses cost: a client that acquires after an idle time and holds, and a server, a network or a process that stands
//! still.

use super::*;
use crate::session::clock::Moment;

const T: u64 = 12_000;
/// As `keep` of the server session has it.
const MOST_IN_FLIGHT: usize = 6;

#[derive(Copy, Clone, Debug)]
struct Ride {
    terms: LeaseTerms,
    /// How long an answer takes.
    answer: u64,
    /// When the acquisition is asked for, after the last contact of the idle time.
    acquires: u64,
    /// When the pause begins, after the acquisition is granted, and how long it is; another one begins T/2 after it.
    begins: u64,
    pause: u64,
    /// It is the client that stands still.
    is_ours: bool,
}

fn at(ms: u64) -> Moment {
    Moment::START + Duration::from_millis(ms)
}

fn ms(moment: Moment) -> u64 {
    moment.since(Moment::START).as_millis().try_into().expect("short")
}

impl Ride {
    /// Whether what is held stays held.
    fn keeps(&self) -> bool {
        let mut lease = Lease::new(Duration::from_millis(T), self.terms, at(0), at(self.answer));
        let mut idle = self.answer;
        while idle < 3 * T {
            idle = ms(lease.due(false));
            lease.sent(at(idle), false);
            lease.beats(at(idle));
            if self.acquires > self.answer || idle < 3 * T {
                lease.answered(at(idle), at(idle + self.answer), false);
            }
        }
        let acquired = idle + self.acquires;
        lease.sent(at(acquired), true);
        if self.acquires <= self.answer {
            lease.answered(at(idle), at(idle + self.answer), false);
        }
        let granted = acquired + self.answer;
        lease.answered(at(acquired), at(granted), true);
        self.holds(&mut lease, granted)
    }

    fn holds(&self, lease: &mut Lease, granted: u64) -> bool {
        let first = granted + self.begins;
        let second = first + self.pause + T / 2;
        let pauses = [(first, first + self.pause), (second, second + self.pause)];
        let over = |moment: u64| {
            pauses.iter().find(|(begin, end)| (*begin..*end).contains(&moment)).map(|(_, end)| *end)
        };
        let (mut now, mut flying) = (granted, VecDeque::new());
        while now < second + self.pause + T {
            let answered = flying.front().map_or(u64::MAX, |(_, answered)| *answered);
            let is_free = flying.len() < MOST_IN_FLIGHT;
            let due = if is_free { ms(lease.due(true)) } else { u64::MAX };
            now = answered.min(due).max(now);
            if self.is_ours {
                now = over(now).unwrap_or(now);
            }
            if at(now) >= lease.certain_until() {
                return false;
            }
            if answered <= now {
                let (sent, _) = flying.pop_front().expect("it is there");
                lease.answered(at(sent), at(now), true);
            } else {
                lease.beats(at(now));
                lease.sent(at(now), true);
                let answer = now + self.answer;
                let late = if self.is_ours { None } else { over(answer).or(over(now)) };
                flying.push_back((now, late.map_or(answer, |end| answer.max(end + self.answer / 2))));
            }
        }
        true
    }
}

/// Whether a pause of so long costs nothing, whenever it comes, whatever stands still.
fn bears(terms: LeaseTerms, answer: u64, pause: u64) -> bool {
    let rides = (0..16).flat_map(|nth| (0..24).map(move |begin| (T / 8 * nth / 16 + 1, T / 3 * begin / 24)));
    rides
        .flat_map(|ride| [(ride, false), (ride, true)])
        .all(|((acquires, begins), is_ours)| Ride { terms, answer, acquires, begins, pause, is_ours }.keeps())
}

fn known(tick: u64) -> LeaseTerms {
    LeaseTerms { server_tick: Some(Duration::from_millis(tick)), ..LeaseTerms::default() }
}

#[test]
fn a_pause_as_long_as_is_promised_costs_nothing() {
    let relaxed = LeaseTerms { mode: LeaseMode::Relaxed, ..LeaseTerms::default() };
    let (usual, quick) = ([LeaseTerms::default(), known(T / 2)], [known(T / 4), known(T / 15)]);
    // Of a timeout that was cut, or a tick that was doubled.
    let slow = [T * 51 / 100, T * 59 / 100, T * 3 / 5, T * 2 / 3, T].map(known);
    for terms in usual.into_iter().chain(quick).chain(slow).chain([relaxed]) {
        let promised = Lease::tolerates(Duration::from_millis(T), terms).as_millis() as u64;
        // Where the pause may be longer, answers have to be quicker.
        let slowest = if promised > T * 2 / 5 { T / 50 } else { T / 25 };
        for answer in [1, T / 1000, T / 100, slowest] {
            assert!(bears(terms, answer, promised), "{terms:?} with answers after {answer}");
        }
    }
}

/// A client whose server stands still for longer than is borne, and which acquires behind that.
#[derive(Copy, Clone, Debug, Default)]
struct Again {
    terms: LeaseTerms,
    answer: u64,
    /// It held before the pause, and so it beat.
    held: bool,
    /// When the pause begins, after a request has left, and how long it is.
    begins: u64,
    pause: u64,
    /// Another pause begins so long after each has begun.
    every: Option<u64>,
    /// When the acquisition is asked for, after the end of the first pause.
    acquires: u64,
    /// It takes what is firm enough for who has waited so long.
    takes_less: bool,
}

impl Again {
    /// Until when the server stands still at that moment.
    fn over(&self, moment: u64) -> Option<u64> {
        let since = moment.checked_sub(3 * T + self.begins)?;
        let into = self.every.map_or(since, |every| since % every);
        (into < self.pause).then(|| moment - into + self.pause)
    }

    /// Whether what it is given stays held; `None` if it is given nothing for long.
    fn keeps(&self) -> Option<bool> {
        let mut lease = Lease::new(Duration::from_millis(T), self.terms, at(0), at(self.answer));
        let begin = 3 * T + self.begins;
        let (end, mut granted) = (begin + self.pause, None);
        let acquired = end + self.acquires;
        let (mut now, mut has_asked, mut flying) = (self.answer, false, VecDeque::<(u64, u64, bool)>::new());
        while granted.is_none_or(|granted| now < granted + 2 * T) {
            let is_needed = if now < end { self.held } else { has_asked };
            let answered = flying.front().map_or(u64::MAX, |(_, answered, _)| *answered);
            let is_free = flying.len() < MOST_IN_FLIGHT;
            let due = if is_free { ms(lease.due(is_needed)) } else { u64::MAX };
            let asks = if has_asked { u64::MAX } else { acquired };
            now = answered.min(due).min(asks).max(now);
            if granted.is_some() && at(now) >= lease.certain_until() {
                return Some(false);
            }
            if granted.is_none() && now > acquired + 2 * T {
                return None;
            }
            if answered <= now {
                let (sent, _, is_beat) = flying.pop_front().expect("it is there");
                lease.answered(at(sent), at(now), is_beat);
            } else {
                let is_beat = is_needed || asks <= now;
                if asks <= now {
                    has_asked = true;
                } else {
                    lease.beats(at(now));
                }
                lease.sent(at(now), is_beat);
                let late = self.over(now).or(self.over(now + self.answer));
                let answer = late.map_or(now + self.answer, |end| end + self.answer / 2);
                flying.push_back((now, answer, is_beat));
            }
            // As soon as the create of the acquisition is answered.
            let asked = acquired + self.answer;
            let waits_since = if self.takes_less { asked } else { now };
            if granted.is_none() && now >= asked && lease.is_firm_enough(at(now), at(waits_since)) {
                granted = Some(now);
            }
        }
        Some(true)
    }
}

#[test]
fn what_is_acquired_behind_a_pause_that_was_not_borne_is_kept() {
    let relaxed = LeaseTerms { mode: LeaseMode::Relaxed, ..LeaseTerms::default() };
    for terms in [LeaseTerms::default(), known(T / 2), known(T / 4), known(T / 15), relaxed] {
        for answer in [1, T / 1000, T / 100, T / 25] {
            for pause in (25..120).step_by(5).map(|hundredths| T * hundredths / 100) {
                for (begins, acquires) in
                    (0..4).flat_map(|b| (0..12).map(move |a| (T / 8 * b / 4, T / 12 * a)))
                {
                    for held in [false, true] {
                        let again =
                            Again { terms, answer, held, begins, pause, acquires, ..Again::default() };
                        assert_eq!(again.keeps(), Some(true), "{again:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn slow_answers_alone_keep_nobody_from_acquiring() {
    let relaxed = LeaseTerms { mode: LeaseMode::Relaxed, ..LeaseTerms::default() };
    for (terms, slowest) in
        [(LeaseTerms::default(), 14), (known(T / 4), 16), (known(T / 15), 16), (relaxed, 45)]
    {
        for answer in (1..=slowest).map(|hundredths| T * hundredths / 100) {
            for (held, acquires) in
                [false, true].into_iter().flat_map(|held| (0..8).map(move |a| (held, T / 8 * a / 8)))
            {
                let again = Again { terms, answer, held, acquires, ..Again::default() };
                assert_eq!(again.keeps(), Some(true), "{again:?}");
            }
        }
    }
}

#[test]
fn who_has_waited_for_half_a_timeout_is_given_what_a_network_leaves_that_stalls_again_and_again() {
    let mut had_nothing = 0;
    for terms in [LeaseTerms::default(), known(T / 4), known(T / 15)] {
        for (pause, every) in [(T / 4, T / 2), (T / 3, T / 2), (T / 2, T * 3 / 4)] {
            for (answer, held, acquires) in [1, T / 100, T / 25]
                .into_iter()
                .flat_map(|answer| [(answer, false), (answer, true)])
                .flat_map(|(answer, held)| (0..8).map(move |a| (answer, held, T / 8 * a / 8)))
            {
                let every = Some(every);
                let again = Again { terms, answer, held, pause, every, acquires, ..Again::default() };
                had_nothing += usize::from(again.keeps().is_none());
                let patient = Again { takes_less: true, ..again };
                assert!(patient.keeps().is_some(), "{patient:?}");
            }
        }
    }
    assert!(had_nothing > 0);
}

/// The rows of a table of docs/production.md behind the line with which it begins, cell by cell.
fn rows(head: &str) -> Vec<Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/production.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let lines = page.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// The number of a cell, in a unit that it names.
fn number(cell: &str, unit: &str) -> Option<f64> {
    cell.strip_suffix(unit)?.trim().parse().ok()
}

/// So many parts of `T`.
fn part(of_all: f64) -> u64 {
    (T as f64 * of_all).round() as u64
}

#[test]
fn the_page_says_what_a_pause_costs_at_each_session_timeout() {
    let relaxed = LeaseTerms { mode: LeaseMode::Relaxed, ..LeaseTerms::default() };
    let columns =
        [vec![LeaseTerms::default(), known(T / 2)], vec![known(T / 4), known(T / 15)], vec![relaxed]];
    let rows = rows("| T | nothing said |");
    let slowest: Vec<u64> = rows.last().expect("answers")[1..4]
        .iter()
        .map(|cell| T / cell.strip_prefix("T/").expect("a part").parse::<u64>().expect("a number"))
        .collect();
    let mut seen = 0;
    for row in &rows[..rows.len() - 1] {
        let (timeout, unit) = number(&row[0], "s").map_or((1.0, "T"), |seconds| (seconds, "s"));
        for ((cell, terms), answer) in row[1..4].iter().zip(&columns).zip(&slowest) {
            let said = part(number(cell, unit).expect("a pause") / timeout);
            for terms in terms {
                let promised = Lease::tolerates(Duration::from_millis(T), *terms).as_millis() as u64;
                assert_eq!(said, promised, "{row:?}: {terms:?}");
                assert!(bears(*terms, *answer, said), "{row:?}: {terms:?}");
                seen += 1;
            }
        }
        // TCP may take as long again to come through.
        let (usual, dropped) = (number(&row[1], unit), number(&row[4], unit));
        assert_eq!(
            usual.map(|usual| (usual * 50.0).round()),
            dropped.map(|it| (it * 100.0).round()),
            "{row:?}"
        );
    }
    assert_eq!(seen, 35);
}

#[test]
fn the_page_says_what_slower_answers_leave() {
    let relaxed = LeaseTerms { mode: LeaseMode::Relaxed, ..LeaseTerms::default() };
    let rows = rows("| | T/25 | T/16");
    for (row, terms) in rows[1..].iter().zip([LeaseTerms::default(), known(T / 5), relaxed]) {
        for (cell, slower) in row[1..].iter().zip([25, 16, 12, 8]) {
            match number(cell, "T") {
                Some(said) => assert!(bears(terms, T / slower, part(said)), "{row:?}: {cell}"),
                None => assert_eq!(cell, "nothing is lost, but no pause is borne"),
            }
        }
    }
    assert_eq!(rows.len(), 4);
}

/// In fortieths of T.
#[test]
fn slower_answers_leave_less() {
    let relaxed = LeaseTerms { mode: LeaseMode::Relaxed, ..LeaseTerms::default() };
    let rows = [
        (LeaseTerms::default(), [12, 9, 5, 0]),
        (known(T / 5), [18, 14, 11, 2]),
        (relaxed, [19, 17, 16, 14]),
    ];
    for (terms, row) in rows {
        for (part, left) in [25, 16, 12, 8].into_iter().zip(row) {
            assert!(
                left == 0 || bears(terms, T / part, T * left / 40),
                "{terms:?}, T/{part}: less than {left}"
            );
            assert!(!bears(terms, T / part, T * (left + 1) / 40), "{terms:?}, T/{part}: more than {left}");
        }
    }
}
