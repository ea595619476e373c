//! Generated from api/two_phase_commit.toml by api/generate; do not edit.

use pyo3::prelude::*;
use zkrecipes::drive;

use super::{CommitTransactionBase, ProposalBase};
use crate::answer::list;
use crate::client::Origin;
use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::waiting::Waiting;

recipe!(TwoPhaseCommitBase of Waiting<zkrecipes::TwoPhaseCommit>, TwoPhaseCommit, "TwoPhaseCommit");

#[pymethods]
impl TwoPhaseCommitBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<TwoPhaseCommitBase> {
        seed.get().take()
    }

    /// Where the transactions are.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// Who decides the transactions that it begins: "coordinator" or "peer".
    #[getter]
    fn mode(&self) -> &'static str {
        self.core.mode().name()
    }

    /// Begins a transaction: every site is asked, also one that is not there now. It is decided in the background,
    /// whether or not somebody waits for the outcome, as long as the client is there: the commit when all have
    /// voted for it, the abort when `timeout` seconds are over. Exists: there is one of that id. TooLarge: the
    /// payload is, or 10,000 wait in the inbox of one of its sites, which the error names, or as many transactions
    /// are not over. ConnectionLost: it may have begun, and is aborted in the background, unless all sites have
    /// voted before that arrives; `recover` of the same object waits for that, and returns it if it was committed.
    fn begin(slf: &Bound<'_, Self>, id: Arg, sites: Arg, payload: Arg, timeout: Arg) -> Answered {
        let id = convert::text("id", id)?;
        let sites = convert::texts("sites", sites)?;
        let payload = convert::payload("payload", payload)?;
        let timeout = convert::duration("timeout", timeout)?;
        let it = slf.get();
        let origin = Origin::clone(Self::origin(slf));
        Self::origin(slf).run_to(
            slf.py(),
            || {
                it.core.heed(drive::begin(
                    &it.core,
                    &id,
                    &sites.iter().map(String::as_str).collect::<Vec<_>>(),
                    &payload,
                    timeout,
                ))
            },
            move |py, answer| CommitTransactionBase::of(py, &origin, answer.hand_over().into()),
        )
    }

    /// Takes over the transactions whose coordinator is not there any more, the oldest first, and sees to it that
    /// they are decided: at once if all have voted, the abort when the time is over, of which half at least is left
    /// from now on. Ask each for its outcome. A coordinator that has crashed is there until its session timeout.
    fn recover(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::TwoPhaseCommit::clone(&slf.get().core);
        let origin = Origin::clone(Self::origin(slf));
        Self::origin(slf).run_to(
            slf.py(),
            || async move { core.recover().await },
            move |py, answer| list(py, answer, |one| CommitTransactionBase::of(py, &origin, one.into())),
        )
    }

    /// Becomes a site, and is one over all sessions of the client until it leaves, this object and its proposals
    /// are garbage, or the client is closed. Exists: this object has joined already, or another that is there is
    /// that site.
    fn join(slf: &Bound<'_, Self>, site: Arg) -> Answered {
        let site = convert::text("site", site)?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::join_as_site(&it.core, &site))
    }

    /// Is that site no longer. What it was asked stays. NotHeld: it has not joined.
    fn leave(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::TwoPhaseCommit::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.leave().await })
    }

    /// Waits for the next transaction on which this site has to vote; each is told once, in the order in which they
    /// began. Timeout after `timeout` seconds. NotHeld: it has not joined.
    #[pyo3(signature = (timeout=None))]
    fn next(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let timeout = convert::limit("timeout", timeout)?;
        let it = slf.get();
        let origin = Origin::clone(Self::origin(slf));
        Self::origin(slf).run_to(
            slf.py(),
            || slf.get().core.heed(drive::next_proposal(&it.core, timeout)),
            move |py, answer| ProposalBase::of(py, &origin, answer.hand_over().into()),
        )
    }

    /// Everything that this site has not acknowledged, voted on or not, the oldest first: what a site asks for
    /// after a restart. NotHeld: it has not joined.
    fn pending(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::TwoPhaseCommit::clone(&slf.get().core);
        let origin = Origin::clone(Self::origin(slf));
        Self::origin(slf).run_to(
            slf.py(),
            || async move { core.pending().await },
            move |py, answer| list(py, answer, |one| ProposalBase::of(py, &origin, one.into())),
        )
    }

    /// How all transactions stand that are not over, the oldest first.
    fn history(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::TwoPhaseCommit::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.history().await })
    }

    /// How a transaction stands; None if there is none of that id.
    fn show(slf: &Bound<'_, Self>, id: Arg) -> Answered {
        let id = convert::text("id", id)?;
        let core = zkrecipes::TwoPhaseCommit::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.show(&id).await })
    }

    /// Decides the abort, unless something is decided already; returns what is: "commit" or "abort". NoNode: there
    /// is none of that id.
    fn decide_abort(slf: &Bound<'_, Self>, id: Arg, reason: Arg) -> Answered {
        let id = convert::text("id", id)?;
        let reason = convert::text("reason", reason)?;
        let core = zkrecipes::TwoPhaseCommit::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.decide_abort(&id, &reason).await })
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones.
    fn cancel(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().core.cancel(Self::origin(slf), slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
    }
}

/// Transactions that all sites commit, or none. The decision is made once and survives everybody's crash. Made
/// by `client.two_phase_commit(path)`.
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
