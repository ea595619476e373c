//! `TwoPhaseCommit`: all sites do something, or none does.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zkrecipes::drive;

use crate::answer::list;
use crate::client::Origin;
use crate::convert::{duration, limit, payload, text, texts};
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::waiting::Waiting;

recipe!(TwoPhaseCommitBase of Waiting<zkrecipes::TwoPhaseCommit>, TwoPhaseCommit, "TwoPhaseCommit");

impl TwoPhaseCommitBase {
    fn recipe(&self) -> zkrecipes::TwoPhaseCommit {
        zkrecipes::TwoPhaseCommit::clone(&self.core)
    }
}

#[pymethods]
impl TwoPhaseCommitBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<TwoPhaseCommitBase> {
        seed.get().take()
    }

    /// Begins a transaction: every site is asked, also one that is not there now. It is decided in the background,
    /// whether or not somebody waits for the outcome, as long as the client is there: the commit when all have voted for it, the
    /// abort when `timeout` seconds are over. Exists: there is one of that id. TooLarge: the payload is. ConnectionLost: it may
    /// have begun, and is aborted in the background, unless all sites have voted before that arrives; `recover` of the same object
    /// waits for that, and returns it if it was committed.
    fn begin(&self, py: Python<'_>, id: Arg, sites: Arg, payload: Arg, timeout: Arg) -> Answered {
        let (id, sites) = (text("id", id)?, texts("sites", sites)?);
        let (payload, timeout) = (self::payload("payload", payload)?, duration("timeout", timeout)?);
        let origin = Origin::clone(&self.origin);
        let begin = || {
            let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
            self.core.heed(drive::begin(&self.core, &id, &sites, &payload, timeout))
        };
        self.origin.run_to(py, begin, move |py, begun| {
            CommitTransactionBase::of(py, &origin, begun.hand_over().into())
        })
    }

    /// Takes over the transactions whose coordinator is not there any more, the oldest first, and sees to it that
    /// they are decided: at once if all have voted, the abort when the time is over, of which half at least is left from now on.
    /// Ask each for its outcome. A coordinator that has crashed is there until its session timeout.
    fn recover(&self, py: Python<'_>) -> Answered {
        let (recipe, origin) = (self.recipe(), Origin::clone(&self.origin));
        self.origin.run_to(
            py,
            || async move { recipe.recover().await },
            move |py, all| list(py, all, |one| CommitTransactionBase::of(py, &origin, one.into())),
        )
    }

    /// Becomes a site, and is one over all sessions of the client until it leaves, this object and its proposals are garbage,
    /// or the client is closed. Exists: this object has joined already, or another that is there is that site.
    fn join(&self, py: Python<'_>, site: Arg) -> Answered {
        let site = text("site", site)?;
        self.origin.run(py, || drive::join_as_site(&self.core, &site))
    }

    /// Is that site no longer. What it was asked stays. NotHeld: it has not joined.
    fn leave(&self, py: Python<'_>) -> Answered {
        let recipe = self.recipe();
        self.origin.run(py, || async move { recipe.leave().await })
    }

    /// Waits for the next transaction on which this site has to vote; each is told once, in the order in which they began.
    /// Timeout after `timeout` seconds. NotHeld: it has not joined.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<Arg>) -> Answered {
        let (limit, origin) = (limit("timeout", timeout)?, Origin::clone(&self.origin));
        self.origin.run_to(
            py,
            || self.core.heed(drive::next_proposal(&self.core, limit)),
            move |py, proposed| ProposalBase::of(py, &origin, proposed.hand_over().into()),
        )
    }

    /// Everything that this site has not acknowledged, voted on or not, the oldest first: what a site asks for after a restart.
    /// NotHeld: it has not joined.
    fn pending(&self, py: Python<'_>) -> Answered {
        let (recipe, origin) = (self.recipe(), Origin::clone(&self.origin));
        self.origin.run_to(
            py,
            || async move { recipe.pending().await },
            move |py, all| list(py, all, |one| ProposalBase::of(py, &origin, one.into())),
        )
    }

    /// How all transactions stand that are not over, the oldest first.
    fn history(&self, py: Python<'_>) -> Answered {
        let recipe = self.recipe();
        self.origin.run(py, || async move { recipe.history().await })
    }

    /// How a transaction stands; None if there is none of that id.
    fn show(&self, py: Python<'_>, id: Arg) -> Answered {
        let (id, recipe) = (text("id", id)?, self.recipe());
        self.origin.run(py, || async move { recipe.show(&id).await })
    }

    /// Decides the abort, unless something is decided already; returns what is: "commit" or "abort". NoNode: there is none of
    /// that id.
    fn decide_abort(&self, py: Python<'_>, id: Arg, reason: Arg) -> Answered {
        let (id, reason, recipe) = (text("id", id)?, text("reason", reason)?, self.recipe());
        self.origin.run(py, || async move { recipe.decide_abort(&id, &reason).await })
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        self.core.cancel(&self.origin, py)
    }

    /// Who decides the transactions that it begins: "coordinator" or "peer".
    #[getter]
    fn mode(&self) -> &'static str {
        self.core.mode().name()
    }

    /// Where the transactions are.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().core.path()))
    }
}

/// Transactions that all sites commit, or none. The decision is made once and survives everybody's crash. Made by
/// `client.two_phase_commit(path)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/two-phase-commit-doc")
/// >>> site = client.two_phase_commit("/commits/orders")
/// >>> site.join("stock")
/// >>> coordinator = client.two_phase_commit("/commits/orders")
/// >>> order = coordinator.begin("order-17", ["stock"], "3 chairs", timeout=10)
/// >>> proposal = site.next()
/// >>> proposal.payload
/// b'3 chairs'
/// >>> proposal.vote_commit()      # from here on it must be possible, also after a crash
/// >>> order.outcome(), proposal.outcome()
/// ('commit', 'commit')
/// >>> proposal.acknowledge()      # done
/// >>> coordinator.history()
/// []
/// >>> client.close()
#[pyclass(frozen, weakref, extends = TwoPhaseCommitBase, module = "zkrecipes")]
pub struct TwoPhaseCommit;

/// What a transaction and a proposal say of themselves.
macro_rules! transaction {
    ($base:ident of $core:ty, $public:ident, $name:literal { $($more:tt)* }) => {
        recipe!($base of Waiting<$core>, $public, $name);

        #[pymethods]
        impl $base {
            #[new]
            fn py_new(seed: &Bound<'_, Seed>) -> Fresh<$base> {
                seed.get().take()
            }

            /// Waits until it is decided and returns "commit" or "abort"; Timeout after `timeout` seconds. Past its deadline
            /// whoever waits decides. It is the true outcome, whoever decided it.
            #[pyo3(signature = (timeout=None))]
            fn outcome(&self, py: Python<'_>, timeout: Option<Arg>) -> Answered {
                let (limit, core) = (limit("timeout", timeout)?, <$core>::clone(&self.core));
                self.origin.run(py, || self.core.heed(async move { core.outcome(limit).await }))
            }

            /// Ends the waits in progress on this object with Cancelled, never later ones.
            fn cancel(&self, py: Python<'_>) -> PyResult<()> {
                self.core.cancel(&self.origin, py)
            }

            /// By which name it began.
            #[getter]
            fn id(&self) -> &str {
                self.core.id()
            }

            /// Who votes.
            #[getter]
            fn sites(&self) -> Vec<String> {
                self.core.sites().to_vec()
            }

            /// What it is about.
            #[getter]
            fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.core.payload())
            }

            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().core.id()))
            }

            $($more)*
        }
    };
}

transaction!(CommitTransactionBase of zkrecipes::CommitTransaction, CommitTransaction, "CommitTransaction" {});

/// A transaction that this coordinator has begun or taken over.
#[pyclass(frozen, weakref, extends = CommitTransactionBase, module = "zkrecipes")]
pub struct CommitTransaction;

transaction!(ProposalBase of zkrecipes::Proposal, Proposal, "Proposal" {
    /// Votes for the commit, which has to be possible from now on. It may come after the abort: the outcome tells. Exists: this
    /// site has voted for the abort.
    fn vote_commit(&self, py: Python<'_>) -> Answered {
        let proposal = zkrecipes::Proposal::clone(&self.core);
        self.origin.run(py, || async move { proposal.vote_commit().await })
    }

    /// Decides the abort. Exists: this site has voted for the commit.
    #[pyo3(signature = (reason=None), text_signature = "($self, reason='')")]
    fn vote_abort(&self, py: Python<'_>, reason: Option<Arg>) -> Answered {
        let reason = reason.map_or(Ok(String::new()), |reason| text("reason", reason))?;
        let proposal = zkrecipes::Proposal::clone(&self.core);
        self.origin.run(py, || async move { proposal.vote_abort(&reason).await })
    }

    /// What was decided is applied here, and needed no more. NotHeld: nothing is decided yet.
    fn acknowledge(&self, py: Python<'_>) -> Answered {
        let proposal = zkrecipes::Proposal::clone(&self.core);
        self.origin.run(py, || async move { proposal.acknowledge().await })
    }

    /// Whether this site had voted when it was told.
    #[getter]
    fn has_voted(&self) -> bool {
        self.core.has_voted()
    }
});

/// A transaction on which a site has to vote.
#[pyclass(frozen, weakref, extends = ProposalBase, module = "zkrecipes")]
pub struct Proposal;
