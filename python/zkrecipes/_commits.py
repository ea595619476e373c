# The bases say what the verbs answer when they block; here they answer a coroutine of it.
# mypy: disable-error-code="assignment,override"
"""Two-phase commit for asyncio."""

from __future__ import annotations

from . import _native
from ._bridge import Answers, awaited, instead


class CommitTransaction(_native.CommitTransactionBase):
    """A transaction that this coordinator has begun or taken over."""

    @instead(awaited(_native.CommitTransactionBase.outcome))
    def outcome(self) -> None: ...


class Proposal(_native.ProposalBase):
    """A transaction on which a site has to vote."""

    @instead(awaited(_native.ProposalBase.vote_commit))
    def vote_commit(self) -> None: ...
    @instead(awaited(_native.ProposalBase.vote_abort))
    def vote_abort(self) -> None: ...
    @instead(awaited(_native.ProposalBase.outcome))
    def outcome(self) -> None: ...
    @instead(awaited(_native.ProposalBase.acknowledge))
    def acknowledge(self) -> None: ...


class TwoPhaseCommit(_native.TwoPhaseCommitBase):
    """Transactions that all sites commit, or none. Made by `client.two_phase_commit(path)`."""

    @instead(Answers[CommitTransaction].awaited(_native.TwoPhaseCommitBase.begin))
    def begin(self) -> None: ...
    @instead(Answers["list[CommitTransaction]"].awaited(_native.TwoPhaseCommitBase.recover))
    def recover(self) -> None: ...
    @instead(awaited(_native.TwoPhaseCommitBase.join))
    def join(self) -> None: ...
    @instead(awaited(_native.TwoPhaseCommitBase.leave))
    def leave(self) -> None: ...
    @instead(Answers[Proposal].awaited(_native.TwoPhaseCommitBase.next))
    def next(self) -> None: ...
    @instead(Answers["list[Proposal]"].awaited(_native.TwoPhaseCommitBase.pending))
    def pending(self) -> None: ...
    @instead(awaited(_native.TwoPhaseCommitBase.history))
    def history(self) -> None: ...
    @instead(awaited(_native.TwoPhaseCommitBase.show))
    def show(self) -> None: ...
    @instead(awaited(_native.TwoPhaseCommitBase.decide_abort))
    def decide_abort(self) -> None: ...
