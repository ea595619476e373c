//! Declaring for a language in which a call may be withdrawn when its answer is on its way to the caller already.

use std::time::Duration;

use crate::error::Result;
use crate::process::Process;
use crate::recipes::declared::Declared;
use crate::recipes::discovery::{Discovery, Instance, Registering, Registration, Service};
use crate::recipes::double_barrier::DoubleBarrier;
use crate::recipes::group::Group;
use crate::recipes::names::Names;
use crate::recipes::two_phase_commit::{CommitTransaction, Proposal, TwoPhaseCommit};

/// Becomes a member, as [`Group::join`] does; no more so if what it answers is dropped before it was received.
///
/// # Cancel safety
/// As for [`Group::join`].
pub fn join(group: &Group, name: &str, data: &[u8]) -> impl Future<Output = Result<Declared>> + Send + use<> {
    let (group, name, data) = (group.clone(), name.to_owned(), data.to_vec());
    async move { group.declare(&name, &data).await }
}

/// Binds a name, as [`Names::bind`] does, or [`Names::bind_ttl`]; an ephemeral one, which has no time to live, is unbound again if
/// what this answers is dropped before it was received.
///
/// # Cancel safety
/// As for [`Names::bind`].
pub fn bind(
    names: &Names,
    name: &str,
    data: &[u8],
    ephemeral: bool,
    ttl: Option<Duration>,
) -> impl Future<Output = Result<Declared>> + Send + use<> {
    let (names, name, data) = (names.clone(), name.to_owned(), data.to_vec());
    async move { names.declare(&name, &data, ephemeral, ttl).await }
}

/// Enters, as [`DoubleBarrier::enter`] does; the round is given up if what this answers is dropped before it was received.
///
/// # Cancel safety
/// As for [`DoubleBarrier::enter`].
pub fn enter(
    barrier: &DoubleBarrier,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Done>> + Send + use<> {
    let barrier = barrier.clone();
    async move {
        barrier.enter(limit).await?;
        // Closed or left meanwhile, there is nothing to do.
        Ok(Done::unless(move || drop(barrier.withdraw())))
    }
}

/// As [`Discovery::register`]; what is dropped on its way to who asked is taken back.
///
/// # Cancel safety
/// As for [`Discovery::register`].
pub fn register(
    discovery: &Discovery,
    service: Service,
) -> impl Future<Output = Result<Registering>> + Send + use<> {
    let discovery = discovery.clone();
    async move { discovery.begin_to_register(service).await }
}

/// As [`Instance::failed`] of the instance of which [`node_of`] says `node`, for a language that keeps no `Instance`.
pub fn node_failed(discovery: &Discovery, node: &str) {
    discovery.node_failed(node);
}

/// Which node an instance was found at, and which registration it is, in one text.
pub fn node_of(instance: &Instance) -> String {
    instance.node_as_text()
}

/// As [`Registration::update`], for a language in which callers say what differs: of `given` only the fields are taken that
/// `names` has, all of them if there are no names.
///
/// # Cancel safety
/// As for [`Registration::update`].
pub fn update(
    registration: &Registration,
    given: Service,
    names: Option<Vec<String>>,
) -> impl Future<Output = Result<()>> + Send + use<> {
    let registration = registration.clone();
    let change = move |mut service: Service| {
        let Some(names) = names else { return given };
        for name in names {
            match &*name {
                "address" => service.address = given.address.clone(),
                "port" => service.port = given.port,
                "ssl_port" => service.ssl_port = given.ssl_port,
                "payload" => service.payload = given.payload.clone(),
                "uri_spec" => service.uri_spec = given.uri_spec.clone(),
                "enabled" => service.enabled = given.enabled,
                _ => {}
            }
        }
        service
    };
    async move { registration.change(change).await }
}

/// Becomes a site, as [`TwoPhaseCommit::join`] does; no more so if what it answers is dropped before it was received.
///
/// # Cancel safety
/// Dropping the future leaves nothing behind.
pub fn join_as_site(
    commits: &TwoPhaseCommit,
    site: &str,
) -> impl Future<Output = Result<Done>> + Send + use<> {
    let (commits, site) = (commits.clone(), site.to_owned());
    async move {
        let joined = commits.join_unattended(&site).await?;
        Ok(Done::on_its_way(move |is_received| match is_received {
            true => joined.receive(),
            false => drop(joined),
        }))
    }
}

/// What was done, on its way to who asked for it. Dropped before it was received, it is undone in the background.
#[must_use = "dropping it undoes it"]
pub struct Done {
    /// Told whether it was received.
    settle: Option<Box<dyn FnOnce(bool) + Send>>,
    process: Process,
}

impl Done {
    fn on_its_way(settle: impl FnOnce(bool) + Send + 'static) -> Done {
        Done { settle: Some(Box::new(settle)), process: Process::present() }
    }

    pub(super) fn unless(undo: impl FnOnce() + Send + 'static) -> Done {
        Done::on_its_way(|is_received| {
            if !is_received {
                undo();
            }
        })
    }

    /// The caller knows.
    pub fn receive(mut self) {
        if let Some(settle) = self.settle.take() {
            settle(true);
        }
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        let Some(settle) = self.settle.take() else { return };
        // What a forked child drops is its parent's.
        match self.process.is_present() {
            true => settle(false),
            false => std::mem::forget(settle),
        }
    }
}

impl std::fmt::Debug for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Done").finish_non_exhaustive()
    }
}

/// As [`TwoPhaseCommit::begin`]; what is dropped on its way to who asked is withdrawn.
///
/// # Cancel safety
/// As for [`TwoPhaseCommit::begin`].
pub fn begin(
    commits: &TwoPhaseCommit,
    id: &str,
    sites: &[&str],
    payload: &[u8],
    timeout: Duration,
) -> impl Future<Output = Result<Begun>> + Send + use<> {
    let (commits, id, payload) = (commits.clone(), id.to_owned(), payload.to_owned());
    let sites: Vec<String> = sites.iter().map(|site| (*site).to_owned()).collect();
    async move {
        let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
        commits
            .begin_unattended(&id, &sites, &payload, timeout)
            .await
            .map(|transaction| Begun(Some(transaction), Process::present()))
    }
}

/// A transaction on its way to who began it.
#[must_use = "dropping it withdraws it"]
#[derive(Debug)]
pub struct Begun(Option<CommitTransaction>, Process);

impl Begun {
    /// The caller has it.
    pub fn hand_over(mut self) -> CommitTransaction {
        let transaction = self.0.take().expect("it is handed over once");
        transaction.attend();
        transaction
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if let (Some(transaction), true) = (&self.0, self.1.is_present()) {
            transaction.withdraw();
        }
    }
}

/// As [`TwoPhaseCommit::next`]; what is dropped on its way to who asked is told again.
///
/// # Cancel safety
/// As for [`TwoPhaseCommit::next`].
pub fn next_proposal(
    commits: &TwoPhaseCommit,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Proposed>> + Send + use<> {
    let commits = commits.clone();
    async move { commits.next(limit).await.map(|proposal| Proposed(Some(proposal), Process::present())) }
}

/// A proposal on its way to who asked for the next one.
#[must_use = "dropping it has it told again"]
#[derive(Debug)]
pub struct Proposed(Option<Proposal>, Process);

impl Proposed {
    /// The caller has it.
    pub fn hand_over(mut self) -> Proposal {
        self.0.take().expect("it is handed over once")
    }
}

impl Drop for Proposed {
    fn drop(&mut self) {
        if let (Some(proposal), true) = (&self.0, self.1.is_present()) {
            proposal.tell_again();
        }
    }
}
