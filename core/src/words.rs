//! The words for choices and for what is told. Generated from api/ by api/generate; do not edit.

use std::str::FromStr;

use crate::{
    CommitMode, CoordinatorState, CounterLayout, CreateMode, ElectionLayout, Error, GroupLayout, LeaseMode,
    LostReason, Naming, Outcome, PickBy, QueueLayout, Result, ServiceType, State, WatchKind,
};

impl State {
    /// `connected`, `suspended`, `lost` or `closed`.
    pub fn name(self) -> &'static str {
        match self {
            State::Connected => "connected",
            State::Suspended => "suspended",
            State::Lost => "lost",
            State::Closed => "closed",
        }
    }
}

impl LostReason {
    /// `session`, `revoked`, `deleted` or `closed`.
    pub fn name(self) -> &'static str {
        match self {
            LostReason::Session => "session",
            LostReason::Revoked => "revoked",
            LostReason::Deleted => "deleted",
            LostReason::Closed => "closed",
        }
    }
}

impl FromStr for CreateMode {
    type Err = Error;

    fn from_str(s: &str) -> Result<CreateMode> {
        match s {
            "persistent" => Ok(CreateMode::Persistent),
            "ephemeral" => Ok(CreateMode::Ephemeral),
            "persistent_sequential" => Ok(CreateMode::PersistentSequential),
            "ephemeral_sequential" => Ok(CreateMode::EphemeralSequential),
            "container" => Ok(CreateMode::Container),
            _ => Err(Error::invalid(
                "mode",
                format!(
                    "{s:?} is not one of persistent, ephemeral, persistent_sequential, ephemeral_sequential, container"
                ),
            )),
        }
    }
}

impl FromStr for WatchKind {
    type Err = Error;

    fn from_str(s: &str) -> Result<WatchKind> {
        match s {
            "data" => Ok(WatchKind::Data),
            "children" => Ok(WatchKind::Children),
            "subtree" => Ok(WatchKind::Subtree),
            _ => Err(Error::invalid("kind", format!("{s:?} is not one of data, children, subtree"))),
        }
    }
}

impl CommitMode {
    /// `coordinator` or `peer`.
    pub fn name(self) -> &'static str {
        match self {
            CommitMode::Coordinator => "coordinator",
            CommitMode::Peer => "peer",
        }
    }
}

impl FromStr for CommitMode {
    type Err = Error;

    fn from_str(s: &str) -> Result<CommitMode> {
        match s {
            "coordinator" => Ok(CommitMode::Coordinator),
            "peer" => Ok(CommitMode::Peer),
            _ => Err(Error::invalid("mode", format!("{s:?} is not one of coordinator, peer"))),
        }
    }
}

impl Outcome {
    /// `commit` or `abort`.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Commit => "commit",
            Outcome::Abort => "abort",
        }
    }
}

impl CoordinatorState {
    /// `present`, `absent` or `done`.
    pub fn name(self) -> &'static str {
        match self {
            CoordinatorState::Present => "present",
            CoordinatorState::Absent => "absent",
            CoordinatorState::Done => "done",
        }
    }
}

impl FromStr for Naming {
    type Err = Error;

    fn from_str(s: &str) -> Result<Naming> {
        match s {
            "curator" => Ok(Naming::Curator),
            "kazoo" => Ok(Naming::Kazoo),
            "zookeeper" => Ok(Naming::Zookeeper),
            _ => Err(Error::invalid("naming", format!("{s:?} is not one of curator, kazoo, zookeeper"))),
        }
    }
}

impl FromStr for LeaseMode {
    type Err = Error;

    fn from_str(s: &str) -> Result<LeaseMode> {
        match s {
            "strict" => Ok(LeaseMode::Strict),
            "relaxed" => Ok(LeaseMode::Relaxed),
            _ => Err(Error::invalid("lease", format!("{s:?} is not one of strict, relaxed"))),
        }
    }
}

impl ServiceType {
    /// `dynamic`, `static`, `permanent` or `dynamic_sequential`.
    pub fn name(self) -> &'static str {
        match self {
            ServiceType::Dynamic => "dynamic",
            ServiceType::Static => "static",
            ServiceType::Permanent => "permanent",
            ServiceType::DynamicSequential => "dynamic_sequential",
        }
    }
}

impl FromStr for ServiceType {
    type Err = Error;

    fn from_str(s: &str) -> Result<ServiceType> {
        match s {
            "dynamic" => Ok(ServiceType::Dynamic),
            "static" => Ok(ServiceType::Static),
            "permanent" => Ok(ServiceType::Permanent),
            "dynamic_sequential" => Ok(ServiceType::DynamicSequential),
            _ => Err(Error::invalid(
                "type",
                format!("{s:?} is not one of dynamic, static, permanent, dynamic_sequential"),
            )),
        }
    }
}

impl FromStr for PickBy {
    type Err = Error;

    fn from_str(s: &str) -> Result<PickBy> {
        match s {
            "round_robin" => Ok(PickBy::RoundRobin),
            "random" => Ok(PickBy::Random),
            "sticky" => Ok(PickBy::Sticky),
            _ => Err(Error::invalid("by", format!("{s:?} is not one of round_robin, random, sticky"))),
        }
    }
}

impl FromStr for CounterLayout {
    type Err = Error;

    fn from_str(s: &str) -> Result<CounterLayout> {
        match s {
            "atomic" => Ok(CounterLayout::Atomic),
            "shared" => Ok(CounterLayout::Shared),
            _ => Err(Error::invalid("layout", format!("{s:?} is not one of atomic, shared"))),
        }
    }
}

impl FromStr for ElectionLayout {
    type Err = Error;

    fn from_str(s: &str) -> Result<ElectionLayout> {
        match s {
            "latch" => Ok(ElectionLayout::Latch),
            "selector" => Ok(ElectionLayout::Selector),
            _ => Err(Error::invalid("layout", format!("{s:?} is not one of latch, selector"))),
        }
    }
}

impl FromStr for GroupLayout {
    type Err = Error;

    fn from_str(s: &str) -> Result<GroupLayout> {
        match s {
            "member" => Ok(GroupLayout::Member),
            "party" => Ok(GroupLayout::Party),
            "shallow_party" => Ok(GroupLayout::ShallowParty),
            _ => Err(Error::invalid("layout", format!("{s:?} is not one of member, party, shallow_party"))),
        }
    }
}

impl FromStr for QueueLayout {
    type Err = Error;

    fn from_str(s: &str) -> Result<QueueLayout> {
        match s {
            "simple" => Ok(QueueLayout::Simple),
            "distributed" => Ok(QueueLayout::Distributed),
            "locking" => Ok(QueueLayout::Locking),
            _ => Err(Error::invalid("layout", format!("{s:?} is not one of simple, distributed, locking"))),
        }
    }
}
