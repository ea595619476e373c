//! Members of a double barrier: they come, give up, are let in, work, and leave in every way there is, round after
//! round.

use std::time::Duration;

use zkrecipes::{Client, DoubleBarrier, Error, ErrorKind, Result};

use crate::rounds::ALONE;
use crate::scenario::Party;
use crate::subject::PATH;
use crate::tell;

/// Between two looks whether there is anything left to do.
const LOOKS: Duration = Duration::from_millis(50);

impl Party {
    pub(crate) async fn meet(&self, client: &Client, nth: usize) {
        let (sim, rounds) = (&self.sim, &self.sim.ledger.rounds);
        let name = format!("h{}w{nth}", self.host);
        let barrier = match client.double_barrier(PATH, sim.plan.parties(), Some(&name)) {
            Ok(barrier) => barrier,
            Err(error) => return self.accuse(format!("no barrier: {error}")),
        };
        // Those who have gone through help the others to.
        while !(self.is_over() && rounds.have_all_gone_through()) {
            self.nap(self.up_to(sim.plan.think)).await;
            if self.is_over() && rounds.steps_back(&name) {
                self.nap(LOOKS).await;
                continue;
            }
            rounds.comes(&name, sim.now());
            if self.come(&barrier).await {
                self.take_part(&barrier, &name).await;
            }
        }
        if rounds.done() == 0 {
            self.clear_the_way(client).await;
        }
        // Watches of those who gave up may be there for others.
        while !rounds.are_all_done() {
            self.nap(LOOKS).await;
        }
    }

    /// Whether it was let in.
    async fn come(&self, barrier: &DoubleBarrier) -> bool {
        let is_hasty = !self.is_over() && self.sim.chance(|rng| rng.one_in(3));
        let limit = self.up_to(self.sim.plan.session_timeout);
        let within = match self.sim.chance(|rng| rng.below(6)) {
            0 => Duration::ZERO,
            _ => limit,
        };
        let is_dropped = is_hasty && self.sim.chance(|rng| rng.one_in(3));
        let entering = barrier.enter((is_hasty && !is_dropped).then_some(within));
        let entered = tokio::select! {
            biased;
            entered = entering => entered,
            () = self.nap(within), if is_dropped => return false,
            () = self.until_all_have_gone_through() => return false,
        };
        let is_in = entered.is_ok();
        // It was counted by the node of its old session, and that had gone when it came back.
        self.expect("enter", entered, &[ErrorKind::Timeout, ErrorKind::Lost]);
        is_in
    }

    async fn until_all_have_gone_through(&self) {
        while !(self.is_over() && self.sim.ledger.rounds.have_all_gone_through()) {
            self.nap(LOOKS).await;
        }
    }

    async fn take_part(&self, barrier: &DoubleBarrier, name: &str) {
        let (sim, rounds) = (&self.sim, &self.sim.ledger.rounds);
        tell!(sim, "{name} is let in");
        sim.ledger.count(|tally| tally.rounds += 1);
        let is_calm = self.is_over();
        rounds.is_let_in(name).into_iter().for_each(|wrong| self.accuse(wrong));
        self.nap(self.up_to(sim.plan.hold)).await;
        let lost = [ErrorKind::Lost];
        let limit = self.up_to(sim.plan.session_timeout);
        let left = match sim.chance(|rng| rng.below(8)) {
            0 if !is_calm => return self.expect("withdraw", barrier.withdraw(), &[]),
            1 if !is_calm => barrier.leave(Some(limit)).await,
            2 if !is_calm => {
                let leaving = barrier.leave(None);
                tokio::select! {
                    biased;
                    left = leaving => left,
                    () = self.nap(limit) => return,
                }
            }
            _ => barrier.leave(None).await,
        };
        tell!(sim, "{name} is let out: {}", left.is_ok());
        match left {
            Ok(()) => {
                rounds.is_let_out(name, is_calm).into_iter().for_each(|wrong| self.accuse(wrong));
            }
            Err(error) if error.kind() == ErrorKind::Timeout && !is_calm => {}
            Err(error) => self.expect("leave", Err(error), &lost),
        }
    }

    /// `ready` of a round whose members have all died or given up stands until somebody comes.
    async fn clear_the_way(&self, client: &Client) {
        loop {
            match self.go_through_alone(client).await {
                Ok(()) => return,
                // Nodes of those who have given up may stand a little longer.
                Err(error) => self.expect(
                    "going alone",
                    Err(error),
                    &[ErrorKind::Mismatch, ErrorKind::Timeout, ErrorKind::Lost],
                ),
            }
            self.nap(LOOKS).await;
        }
    }

    async fn go_through_alone(&self, client: &Client) -> Result<(), Error> {
        let alone = client.double_barrier(PATH, 1, Some(ALONE))?;
        let limit = Some(self.sim.plan.session_timeout);
        alone.enter(limit).await?;
        alone.leave(limit).await
    }
}
