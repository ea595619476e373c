//! Very many rounds of one double barrier, while members run out of time, are dropped, and lose their sessions, at
//! random: nobody is let in or out early, and nobody is stuck.
//!
//! `ZKR_SEED` plays the fates of a run again that failed; the order in which the server is asked is the machine's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::support::ground::{Ground, grounds};
use crate::support::rounds::{READY, TEN, nothing_left, of};
use crate::support::{SOON, soon};
use tokio::sync::watch;
use zkrecipes::{Client, DoubleBarrier, ErrorKind, drive};

const PARTIES: usize = 3;
/// Two more than a round needs, so that there is always somebody in place of who is gone.
const SEATS: u64 = 5;
/// While members may run out of time, of which each is told, so that nobody may be missing; and while they are killed, too.
const EMBEDDED_ROUNDS: [usize; 2] = [50, 250];
const REAL_ROUNDS: [usize; 2] = [50, 100];
/// The same on the embedded server if all is to be tested.
const MANY_ROUNDS: [usize; 2] = [200, 1000];
/// Nobody answers for so long: then a node that was given up may stand, and be counted, though its time is over.
const OUTAGE: Duration = Duration::from_millis(250);

/// What becomes of a member, drawn anew for each round.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fate {
    Steady,
    /// Has so many milliseconds to enter.
    Hurried(u64),
    /// Its call is dropped after so many milliseconds.
    Dropped(u64),
    /// It is cancelled after so many milliseconds, and told so.
    Cancelled(u64),
    /// Its session is ended after so many milliseconds, wherever it is.
    Killed(u64),
    Withdraws,
}

/// Small and good enough; the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn fate(&mut self, may_vanish: bool) -> Fate {
        let after = self.roll(12);
        match self.roll(20) {
            0..=3 => Fate::Hurried(after),
            4 => Fate::Withdraws,
            5 if may_vanish => Fate::Dropped(after),
            6 if may_vanish => Fate::Cancelled(after),
            7..=9 if may_vanish => Fate::Killed(after),
            _ => Fate::Steady,
        }
    }
}

/// The members of one round, as they were told.
#[derive(Default)]
struct Round {
    entered: usize,
    /// How many of them have begun to leave.
    left: usize,
    is_over: bool,
}

#[derive(Default)]
struct Ledger {
    /// By their generation.
    rounds: BTreeMap<i64, Round>,
    /// How many nodes of members that were dropped or lost their session may have been counted in some round.
    vanished: usize,
    timeouts: usize,
    kills: usize,
}

impl Ledger {
    fn entered(&mut self, generation: i64) {
        let round = self.rounds.entry(generation).or_default();
        round.entered += 1;
        assert!(round.entered <= PARTIES, "more members than there should be");
        assert!(!round.is_over, "let out early: this one is just coming in");
    }

    fn leaves(&mut self, generation: i64) {
        self.rounds.get_mut(&generation).expect("it has entered").left += 1;
    }

    fn has_left(&mut self, generation: i64) {
        let round = self.rounds.get_mut(&generation).expect("it has entered");
        assert_eq!(round.left, round.entered, "let out early: some are inside");
        round.is_over = true;
    }

    /// Whoever is counted in a round is told so, or has vanished. Who was told Timeout is counted in none.
    fn settle(&self) {
        let missing: usize = self.rounds.values().map(|round| PARTIES - round.entered).sum();
        println!(
            "{} rounds, {} timeouts, {} kills, {missing} members too few, {} nodes vanished",
            self.rounds.len(),
            self.timeouts,
            self.kills,
            self.vanished
        );
        assert!(missing <= self.vanished, "let in early");
    }
}

struct World {
    ground: Ground,
    may_vanish: bool,
    is_over: watch::Sender<bool>,
    ledger: Mutex<Ledger>,
}

impl World {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A member after the other takes this seat, until there have been enough rounds.
    async fn seat(self: Arc<Self>, seed: u64) {
        let mut dice = Dice(seed);
        let client = self.ground.client(Duration::from_secs(4)).await;
        while !*self.is_over.borrow() {
            let fate = dice.fate(self.may_vanish);
            let barrier = of(&client, PARTIES);
            if let Fate::Killed(after) = fate {
                // Its first node and the one in the next session.
                self.ledger().vanished += 2;
                self.ledger().kills += 1;
                let session = client.session_id();
                let kill = async {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    self.ground.expire(session).await;
                };
                tokio::join!(self.be_killed(&barrier, fate), kill);
            } else if self.enter(&barrier, fate).await {
                self.go_through(&client, &barrier, fate).await;
            }
        }
        client.close(Some(SOON)).await.expect("closed");
    }

    /// Whether it is in. When all is over nobody waits any more.
    async fn enter(&self, barrier: &DoubleBarrier, fate: Fate) -> bool {
        let (mut is_over, begun) = (self.is_over.subscribe(), Instant::now());
        let (limit, dropped) = match fate {
            Fate::Hurried(limit) => (Some(Duration::from_millis(limit)), SOON),
            Fate::Dropped(after) => (None, Duration::from_millis(after)),
            _ => (None, SOON),
        };
        if let Fate::Cancelled(after) = fate {
            return self.be_cancelled(barrier, Duration::from_millis(after)).await;
        }
        let told = tokio::select! {
            told = barrier.enter(limit) => told,
            () = tokio::time::sleep(dropped) => {
                assert!(matches!(fate, Fate::Dropped(_)), "{fate:?}: stuck while it enters");
                self.ledger().vanished += 1;
                return false;
            }
            _ = is_over.wait_for(|is_over| *is_over) => {
                self.ledger().vanished += 1;
                return false;
            }
        };
        if let Err(error) = &told {
            if matches!(fate, Fate::Killed(_)) {
                // A round may have been on with it, and be over.
                assert_eq!(error.kind(), ErrorKind::Lost, "{error:?}");
                return false;
            }
            assert!(limit.is_some() && error.kind() == ErrorKind::Timeout, "{fate:?}: {error:?}");
            let mut ledger = self.ledger();
            ledger.timeouts += 1;
            ledger.vanished += usize::from(begun.elapsed() >= limit.unwrap_or_default() + OUTAGE);
        }
        told.is_ok()
    }

    /// As in the other languages. It may have been declared at that very moment; who has been told is counted by nobody.
    async fn be_cancelled(&self, barrier: &DoubleBarrier, after: Duration) -> bool {
        let (token, (sender, told)) = (drive::CancelToken::new(), tokio::sync::oneshot::channel());
        let tell = move |done: zkrecipes::Result<drive::Done>| {
            let _ = sender.send(done.map(drive::Done::receive));
        };
        drive::start(drive::enter(barrier, None), &token, tell).expect("started");
        tokio::time::sleep(after).await;
        token.cancel();
        match soon("a cancelled enter", told).await.expect("told") {
            Ok(()) => return true,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error:?}"),
        }
        assert!(!barrier.has_entered(), "it was told that it is not in");
        self.ledger().vanished += 1;
        false
    }

    async fn go_through(&self, client: &Client, barrier: &DoubleBarrier, fate: Fate) {
        // It stands as long as we are in.
        let ready = client.nodes().exists(READY).await.expect("asked").expect("a round is on");
        self.ledger().entered(ready.czxid);
        tokio::task::yield_now().await;
        self.ledger().leaves(ready.czxid);
        if fate == Fate::Withdraws {
            barrier.withdraw().expect("inside");
        } else {
            soon("leave", barrier.leave(None)).await.expect("left");
            self.ledger().has_left(ready.czxid);
        }
    }

    /// Which round it was in nobody knows in time.
    async fn be_killed(&self, barrier: &DoubleBarrier, fate: Fate) {
        if self.enter(barrier, fate).await
            && let Err(error) = soon("leave", barrier.leave(None)).await
        {
            assert_eq!(error.kind(), ErrorKind::Lost, "{error:?}");
        }
    }
}

/// Plays until there have been so many rounds.
async fn play(ground: &Ground, may_vanish: bool, rounds: usize, seed: u64) {
    let is_over = watch::Sender::new(false);
    let world = World { ground: ground.clone(), may_vanish, is_over, ledger: Mutex::default() };
    let world = Arc::new(world);
    let mut seats: Vec<_> =
        (1..=SEATS).map(|n| tokio::spawn(world.clone().seat(seed.wrapping_mul(n) | 1))).collect();
    let (mut seen, mut since) = (0, Instant::now());
    while seen < rounds && !seats.iter().any(|seat| seat.is_finished()) {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let now = world.ledger().rounds.len();
        if now > seen {
            (seen, since) = (now, Instant::now());
        }
        assert!(since.elapsed() < SOON, "stuck in round {seen}");
    }
    world.is_over.send_replace(true);
    for seat in &mut seats {
        soon("a seat", seat).await.expect("nobody failed");
    }
    world.ledger().settle();
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_let_in_or_out_early_and_nobody_is_stuck_in_very_many_rounds() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let given = std::env::var("ZKR_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let seed: u64 = given.unwrap_or(now.as_nanos() as u64);
    println!("ZKR_SEED={seed}");
    for ground in grounds() {
        let rounds = match ground {
            Ground::Real { .. } => REAL_ROUNDS,
            Ground::Embedded(_) if std::env::var_os("ZKR_ALL").is_some() => MANY_ROUNDS,
            Ground::Embedded(_) => EMBEDDED_ROUNDS,
        };
        for (may_vanish, rounds) in [false, true].into_iter().zip(rounds) {
            play(&ground, may_vanish, rounds, seed).await;
        }
        // All members of the last round may have died.
        let client = ground.client(TEN).await;
        soon("one more round", of(&client, 1).run(async {})).await.expect("alone");
        nothing_left(&ground, &client).await;
    }
}
