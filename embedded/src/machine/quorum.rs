//! Members that stop one by one, and what is left without a majority.

use super::cluster::Cluster;
use super::{Machine, Now, Time};

/// What there was when the majority was lost, and will be again when it is back.
#[derive(Debug)]
pub(super) struct Before {
    saved: Vec<u8>,
    read_only: bool,
}

impl Cluster {
    /// Without a majority, members serve reads to clients that accept read-only servers. Otherwise they serve nobody.
    pub fn read_only_without_quorum(&mut self, allowed: bool) {
        self.reads_without_quorum = allowed;
    }

    pub fn has_quorum(&self) -> bool {
        self.before.is_none()
    }

    /// Stops a follower: its clients are sent away. If that leaves no majority, all clients are. False if there is no
    /// such follower, or it has stopped already.
    pub fn stop_member(&mut self, m: usize, now: Now) -> bool {
        let can = (1..self.members.len()).contains(&m) && !self.links[m].stopped;
        if !can {
            return false;
        }
        let link = &mut self.links[m];
        (link.stopped, link.lost) = (true, true);
        link.cut_since.get_or_insert(now.mono);
        link.to_leader.clear();
        self.members[m].send_everybody_away();
        if self.before.is_none() && !self.is_majority() {
            self.lose_quorum();
        }
        true
    }

    /// Starts a follower again; it learns what it missed. False if it had not stopped.
    pub fn start_member(&mut self, m: usize, now: Now) -> bool {
        let Some(link) = self.links.get_mut(m).filter(|l| l.stopped) else { return false };
        (link.stopped, link.lost, link.cut_since) = (false, false, None);
        if self.is_majority()
            && let Some(before) = self.before.take()
        {
            self.regain_quorum(&before, now);
        }
        true
    }

    pub fn has_stopped(&self, m: usize) -> bool {
        self.links.get(m).is_some_and(|l| l.stopped)
    }

    fn is_majority(&self) -> bool {
        let up = self.links.iter().filter(|l| l.cut_since.is_none()).count();
        up * 2 > self.members.len()
    }

    fn lose_quorum(&mut self) {
        let leader = &self.members[0];
        self.before = Some(Before { saved: leader.save(), read_only: leader.config.read_only });
        let first_local = leader.next_session_id();
        for member in &mut self.members {
            member.send_everybody_away();
            member.without_quorum = Some(first_local);
            member.config.read_only = true;
        }
    }

    /// After everything was forgotten: what will be again is what there is now.
    pub(super) fn lose_quorum_again(&mut self) {
        if let Some(before) = self.before.take() {
            self.members.iter_mut().for_each(|member| member.config.read_only = before.read_only);
            if !self.is_majority() {
                self.lose_quorum();
            }
        }
    }

    /// Sessions that began without a majority are forgotten. Nothing else can have begun.
    fn regain_quorum(&mut self, before: &Before, now: Now) {
        let next_session_id = self.members[0].next_session_id();
        for member in &mut self.members {
            member.send_everybody_away();
            member.drain_output_into(&mut self.out);
        }
        for (m, member) in self.members.iter_mut().enumerate() {
            let mut config = member.config.clone();
            config.read_only = before.read_only;
            // It was saved by this very machine.
            let Ok(mut again) = Machine::load(config, &before.saved, now) else { continue };
            again.sessions.skip_to(next_session_id);
            again.allow_reconfig(member.ensemble.take());
            if m == 0 {
                again.lead()
            } else {
                again.follow()
            }
            *member = again;
            self.links[m].parcels.clear();
        }
        self.next_relay = Time::ZERO;
    }
}
