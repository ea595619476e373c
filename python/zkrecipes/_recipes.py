# The bases say what the verbs answer when they block; here they answer a coroutine of it.
# mypy: disable-error-code="assignment,override"
"""The recipes that are nothing but their verbs, for asyncio. Generated from api/ by api/generate; do not edit."""

from __future__ import annotations

from . import _native
from ._bridge import Answers, awaited, instead
from ._feeds import feeding
from ._queues import Backlog


class Barrier(_native.BarrierBase):
    """While it is up, everybody who comes to it waits. Made by `client.barrier(path)`."""

    @instead(awaited(_native.BarrierBase.create))
    def create(self) -> None: ...
    @instead(awaited(_native.BarrierBase.remove))
    def remove(self) -> None: ...
    @instead(awaited(_native.BarrierBase.is_up))
    def is_up(self) -> None: ...
    @instead(awaited(_native.BarrierBase.wait))
    def wait(self) -> None: ...


class CommitTransaction(_native.CommitTransactionBase):
    """A transaction that this coordinator has begun or taken over."""

    @instead(awaited(_native.CommitTransactionBase.outcome))
    def outcome(self) -> None: ...


class Counter(_native.CounterBase):
    """A number that many count on. Every change is applied exactly once, also when its answer gets lost;
    ConnectionLost where that cannot be known any more. Made by `client.counter(path)`.
    """

    @instead(awaited(_native.CounterBase.get))
    def get(self) -> None: ...
    @instead(awaited(_native.CounterBase.add))
    def add(self) -> None: ...
    @instead(awaited(_native.CounterBase.set))
    def set(self) -> None: ...
    @instead(awaited(_native.CounterBase.compare_and_set))
    def compare_and_set(self) -> None: ...
    @instead(feeding(_native.CounterBase.watch))
    def watch(self) -> None: ...


class DelayQueue(Backlog, _native.DelayQueueBase):
    """Items that are taken when they are due, the first due first. Made by `client.delay_queue(path)`.

    What is due is told by the clocks of those who put and take: they should not be far apart.
    """

    @instead(awaited(_native.DelayQueueBase.put))
    def put(self) -> None: ...


class Discovery(_native.DiscoveryBase):
    """Services below a path, and their instances, shared with everybody who uses that path, Curator's users too.
    Made by `client.discovery(path)`.
    """

    @instead(Answers["Registration"].awaited(_native.DiscoveryBase.register))
    def register(self) -> None: ...
    @instead(awaited(_native.DiscoveryBase.instances))
    def instances(self) -> None: ...
    @instead(awaited(_native.DiscoveryBase.names))
    def names(self) -> None: ...
    @instead(feeding(_native.DiscoveryBase.watch))
    def watch(self) -> None: ...
    @instead(awaited(_native.DiscoveryBase.pick))
    def pick(self) -> None: ...


class Group(_native.GroupBase):
    """A group of members that know each other by name; this object can be one of them. Made by
    `client.group(path)`.
    """

    @instead(awaited(_native.GroupBase.join))
    def join(self) -> None: ...
    @instead(awaited(_native.GroupBase.leave))
    def leave(self) -> None: ...
    @instead(awaited(_native.GroupBase.update))
    def update(self) -> None: ...
    @instead(awaited(_native.GroupBase.members))
    def members(self) -> None: ...
    @instead(awaited(_native.GroupBase.wait_for))
    def wait_for(self) -> None: ...
    @instead(feeding(_native.GroupBase.watch))
    def watch(self) -> None: ...


class Latch(_native.LatchBase):
    """Closed until it was counted down as often as it says, by whomever, and open from then on. Every count is
    made exactly once, also when its answer gets lost; ConnectionLost where that cannot be known any more. Made
    by `client.latch(path, count)`.
    """

    @instead(awaited(_native.LatchBase.count_down))
    def count_down(self) -> None: ...
    @instead(awaited(_native.LatchBase.remaining))
    def remaining(self) -> None: ...
    @instead(awaited(_native.LatchBase.reset))
    def reset(self) -> None: ...
    @instead(awaited(_native.LatchBase.wait))
    def wait(self) -> None: ...


class Names(_native.NamesBase):
    """Names below a path, and what they stand for. Made by `client.names(path)`."""

    @instead(awaited(_native.NamesBase.bind))
    def bind(self) -> None: ...
    @instead(awaited(_native.NamesBase.lookup))
    def lookup(self) -> None: ...
    @instead(awaited(_native.NamesBase.unbind))
    def unbind(self) -> None: ...
    @instead(awaited(_native.NamesBase.list))
    def list(self) -> None: ...
    @instead(feeding(_native.NamesBase.watch))
    def watch(self) -> None: ...


class NodeCache(_native.NodeCacheBase):
    """A node and all that is below it, kept here: reading it asks nobody. Made by `client.nodes.cache(path)`."""

    @instead(feeding(_native.NodeCacheBase.changes))
    def changes(self) -> None: ...


class PriorityQueue(Backlog, _native.PriorityQueueBase):
    """Items of which the one with the lowest priority number is taken first, and of those with the same the one
    that came first. Made by `client.priority_queue(path)`.
    """

    @instead(awaited(_native.PriorityQueueBase.put))
    def put(self) -> None: ...


class Proposal(_native.ProposalBase):
    """A transaction on which a site has to vote."""

    @instead(awaited(_native.ProposalBase.outcome))
    def outcome(self) -> None: ...
    @instead(awaited(_native.ProposalBase.vote_commit))
    def vote_commit(self) -> None: ...
    @instead(awaited(_native.ProposalBase.vote_abort))
    def vote_abort(self) -> None: ...
    @instead(awaited(_native.ProposalBase.acknowledge))
    def acknowledge(self) -> None: ...


class Queue(Backlog, _native.QueueBase):
    """Items that are taken in the order in which they came. Made by `client.queue(path)`.

    `async for item in queue:` claims one after the other, and waits for more. One that is not settled when the
    next is asked for, or when the loop ends, is given back as by `nack`. `async with item:` acknowledges it, or
    gives it back if the body failed.
    """

    @instead(awaited(_native.QueueBase.put))
    def put(self) -> None: ...
    @instead(awaited(_native.QueueBase.put_many))
    def put_many(self) -> None: ...


class Registration(_native.RegistrationBase):
    """A registered instance of a service, until it is unregistered. Made by `discovery.register`."""

    @instead(awaited(_native.RegistrationBase.update))
    def update(self) -> None: ...
    @instead(awaited(_native.RegistrationBase.unregister))
    def unregister(self) -> None: ...


class TwoPhaseCommit(_native.TwoPhaseCommitBase):
    """Transactions that all sites commit, or none. The decision is made once and survives everybody's crash. Made
    by `client.two_phase_commit(path)`.
    """

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
