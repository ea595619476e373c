# The bases say what the verbs answer when they block; here they answer a coroutine of it.
# mypy: disable-error-code="assignment,override"
"""Two-phase commit for asyncio."""

from __future__ import annotations

from . import _native
from ._bridge import Answers, awaited


class CommitTransaction(_native.CommitTransactionBase):
    """A transaction that this coordinator has begun or taken over."""

    outcome = awaited(_native.CommitTransactionBase.outcome)


class Proposal(_native.ProposalBase):
    """A transaction on which a site has to vote."""

    vote_commit = awaited(_native.ProposalBase.vote_commit)
    vote_abort = awaited(_native.ProposalBase.vote_abort)
    outcome = awaited(_native.ProposalBase.outcome)
    acknowledge = awaited(_native.ProposalBase.acknowledge)


class TwoPhaseCommit(_native.TwoPhaseCommitBase):
    """Transactions that all sites commit, or none. Made by `client.two_phase_commit(path)`."""

    begin = Answers[CommitTransaction].awaited(_native.TwoPhaseCommitBase.begin)
    recover = Answers["list[CommitTransaction]"].awaited(_native.TwoPhaseCommitBase.recover)
    join = awaited(_native.TwoPhaseCommitBase.join)
    leave = awaited(_native.TwoPhaseCommitBase.leave)
    next = Answers[Proposal].awaited(_native.TwoPhaseCommitBase.next)
    pending = Answers["list[Proposal]"].awaited(_native.TwoPhaseCommitBase.pending)
    history = awaited(_native.TwoPhaseCommitBase.history)
    show = awaited(_native.TwoPhaseCommitBase.show)
    decide_abort = awaited(_native.TwoPhaseCommitBase.decide_abort)
