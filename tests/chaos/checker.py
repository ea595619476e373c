#!/usr/bin/env python3
"""Decides whether a history keeps what the recipes promise:  checker.py HISTORY

Each function below is a recipe: it gets the calls on one path, and tells which of them cannot all be. All of it rests
on two things. A call takes effect between its call and its answer. And what was held *for certain* was held from the
answer of its acquisition to the call of the last `held` that said yes: `is_held` is a matter of the clock, right at
the moment when it is asked, and never true again once it was false. A session that is ended by force is the exception
that the documentation names: nobody is certain of anything in it from then on, and only guarded writes and tokens are
right.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TypeVar

import linear
from history import GUESTS, NEVER, Call, History, read


@dataclass(frozen=True)
class Refusal:
    """A promise that was not kept, and the calls that say so."""

    promise: str
    path: str
    calls: tuple[Call, ...]

    def __str__(self) -> str:
        return "\n  ".join(
            [f"{self.path}: {self.promise}", *map(str, sorted(self.calls, key=lambda call: call.called))]
        )


# By session, from when to when somebody was at ending it by force.
Expired = dict[str, list[tuple[float, float]]]
Refusals = Iterable[Refusal]
Checker = Callable[[Sequence[Call], str, Expired], Refusals]
T = TypeVar("T")
K = TypeVar("K")


# What is held.


@dataclass(frozen=True)
class Stay:
    """From an acquisition to the next one of the same client."""

    acquired: Call
    later: tuple[Call, ...]
    # Until when it was held for certain.
    until: float

    @property
    def token(self) -> int:
        return int(self.acquired.ok[0]) if self.acquired.ok else 0

    @property
    def since(self) -> float:
        return self.acquired.answered or NEVER

    @property
    def is_certain(self) -> bool:
        return self.until > self.since


ASKS = {"held", "leads", "has-partition"}
ENDS = {"release", "resign", "release-partition", "downgrade"}


def stays(calls: Sequence[Call], acquires: str, expired: Expired) -> list[Stay]:
    """The acquisitions by that word. A client does one thing after the other."""
    found = []
    for mine in _by(calls, lambda call: call.client).values():
        starts = [place for place, call in enumerate(mine) if call.op == acquires]
        for start, end in pairwise([*starts, len(mine)]):
            acquired, later = mine[start], mine[start + 1 : end]
            # Another library may believe that it holds what it does not.
            if not acquired.ok or acquired.answered is None or acquired.language in GUESTS:
                continue
            ended = next((place for place, call in enumerate(later) if call.op in ENDS), len(later))
            until = max(
                (call.called for call in later[:ended] if call.op in ASKS and call.ok == ("true",)), default=0.0
            )
            # A player's name begins with that of the session that it uses.
            ends_by_force = expired.get(acquired.client.partition("/")[0], [])
            cuts = [called for called, answered in ends_by_force if answered > acquired.called]
            found.append(Stay(acquired, tuple(later), min([until, *cuts])))
    return found


def exclusive(all_: Sequence[Stay], path: str, named: str = "token") -> Refusals:
    """Tokens are unique and rise from one acquisition to the next, and no two held it at the same time."""
    by_token = _by(all_, lambda stay: stay.token)
    for token, same in by_token.items():
        if len(same) > 1:
            yield Refusal(f"two acquisitions have the {named} {token}", path, tuple(stay.acquired for stay in same))
    newest_at = newest(all_)
    for stay in all_:
        before = newest_at(stay.acquired.called)
        if before is not None and before.token > stay.token:
            yield Refusal(f"the {named} of a later acquisition is lower", path, (before.acquired, stay.acquired))
    yield from apart([stay for stay in all_ if stay.is_certain], path)


def newest(all_: Sequence[Stay]) -> Callable[[float], Stay | None]:
    """Which of those that were answered before a moment has the highest token."""
    by_answer = sorted(all_, key=lambda stay: stay.since)
    answers = [stay.since for stay in by_answer]
    highest = list(accumulate(by_answer, _newer))

    def at(moment: float) -> Stay | None:
        place = bisect_left(answers, moment)
        return highest[place - 1] if place else None

    return at


def apart(certain: Sequence[Stay], path: str, permits: int = 1) -> Refusals:
    """No more than so many are held for certain at one time."""
    there: list[Stay] = []
    for stay in sorted(certain, key=lambda stay: stay.since):
        there = [one for one in there if one.until > stay.since]
        there.append(stay)
        if len(there) > permits:
            told = tuple(call for one in there for call in (one.acquired, _last_yes(one)))
            yield Refusal(f"{len(there)} held it at the same time, and {permits} may", path, told)
            return


def _newer(one: Stay, other: Stay) -> Stay:
    return max(one, other, key=lambda stay: stay.token)


def guarded(holders: Sequence[Stay], exclusive: Sequence[Stay], path: str, words: Sequence[str]) -> Refusals:
    """What a holder writes under guard is refused once another one has acquired it for itself."""
    newest_at = newest(exclusive)
    for stay in holders:
        for write in (call for call in stay.later if call.op in words and call.ok is not None):
            other = newest_at(write.called)
            if other is not None and other.token > stay.token:
                promise = "a write of an older acquisition was applied after a newer one"
                yield Refusal(promise, path, (stay.acquired, other.acquired, write))


def nothing_lost(calls: Sequence[Call], path: str, word: str) -> Refusals:
    """Each write is the value before it plus one, so no two writes of the same may succeed."""
    written = _by([call for call in calls if call.op == word and call.ok is not None], lambda call: call.args)
    for same in written.values():
        if len(same) > 1:
            yield Refusal("a write was lost: two made the same value of the one before", path, tuple(same))


def lock(calls: Sequence[Call], path: str, expired: Expired) -> Refusals:
    held = stays(calls, "acquire", expired)
    yield from exclusive(held, path)
    yield from guarded(held, held, path, ["guarded-set"])
    yield from nothing_lost(calls, path, "guarded-set")


def read_write(calls: Sequence[Call], path: str, expired: Expired) -> Refusals:
    """Both sides are handles of their own: the client is followed by `.read` or `.write`."""
    written, was_read = (
        stays([call for call in calls if call.client.endswith(side)], "acquire", expired)
        for side in (".write", ".read")
    )
    yield from exclusive(written, path)
    yield from guarded([*written, *was_read], written, path, ["guarded-set"])
    yield from nothing_lost(calls, path, "guarded-set")
    newest_at = newest(written)
    for reader in was_read:
        before = newest_at(reader.acquired.called)
        if before is not None and before.token > reader.token:
            promise = "a reader has a lower token than a writer before it"
            yield Refusal(promise, path, (before.acquired, reader.acquired))
        for writer in written:
            if reader.is_certain and writer.is_certain and reader.since < writer.until and writer.since < reader.until:
                told = (reader.acquired, writer.acquired, _last_yes(reader), _last_yes(writer))
                yield Refusal("one read while another one wrote", path, told)


def semaphore(calls: Sequence[Call], path: str, expired: Expired) -> Refusals:
    permits = max(int(call.args[-1]) for call in calls if call.op == "semaphore")
    yield from apart([stay for stay in stays(calls, "acquire", expired) if stay.is_certain], path, permits)


def election(calls: Sequence[Call], path: str, expired: Expired) -> Refusals:
    led = stays(calls, "campaign", expired)
    yield from exclusive(led, path, "epoch")
    yield from guarded(led, led, path, ["acknowledge", "guarded-set"])
    # Who leads: no older than the call.
    newest_at = newest(led)
    for look in (call for call in calls if call.op == "leader" and call.ok and call.ok[0] != "none"):
        later = newest_at(look.called)
        if later is not None and later.token > int((look.ok or ())[1]):
            promise = "a leader was told whom another one had followed before"
            yield Refusal(promise, path, (later.acquired, look))


def partitioner(calls: Sequence[Call], path: str, expired: Expired) -> Refusals:
    """Each call tells its partition: of what was won in its answer, else in its arguments."""
    won = [call for call in calls if call.op == "next-partition" and call.ok]
    for name in {(call.ok or ())[0] for call in won}:
        own = [call for call in calls if name in ((call.ok or ()) if call.op == "next-partition" else call.args)]
        yield from apart([stay for stay in stays(own, "next-partition", expired) if stay.is_certain], f"{path} {name}")


# Queues. Each item is put once by somebody, so its data is its name.


def queue(calls: Sequence[Call], path: str, expired: Expired) -> Refusals:
    puts = {call.args[0]: call for call in calls if call.op == "put"}
    got = [call for call in calls if call.op == "get-item" and call.ok]
    claimed = [call for call in calls if call.op == "claim" and call.ok]
    settled = [call for call in calls if call.op in ("ack", "ack-with-create")]
    for call in (*got, *claimed):
        put = puts.get(_item(call))
        if put is None or put.called > call.end:
            yield Refusal("an item came out that nobody had put", path, (call,))
        elif put.was_denied:
            yield Refusal("an item came out that was not put, as the putter was told", path, (put, call))
    for same in _by(got, _item).values():
        if len(same) > 1:
            yield Refusal("an item was got more than once", path, tuple(same))
    acked = _by([call for call in settled if call.ok is not None], lambda call: call.args[0])
    claims = _by(claimed, _item)
    for item, good in acked.items():
        if len(good) > 1:
            yield Refusal("an item was acknowledged more than once", path, tuple(good))
        for call in claims.get(item, []):
            if call.called > good[0].end:
                yield Refusal("an item was claimed after its acknowledgement", path, (good[0], call))
    for call in settled:
        if call.error == "EXISTS":
            yield Refusal("what is done with an acknowledgement was done before", path, (call,))
    yield from in_order(got, puts, path)
    yield from nothing_left_out(calls, puts, path)


def in_order(got: Sequence[Call], puts: dict[str, Call], path: str) -> Refusals:
    """Where there is one consumer at a time, each gets the items of one producer in their order."""
    if any(call.end > after.called for call, after in pairwise(got)):
        return
    latest: dict[tuple[str, str], Call] = {}
    for call in got:
        put = puts.get(_item(call))
        if put is None:
            continue
        before = latest.get((put.client, call.client))
        if before is not None and put.end < puts[_item(before)].called:
            yield Refusal("items of one producer came in another order", path, (puts[_item(before)], put, before, call))
        latest[put.client, call.client] = call


def nothing_left_out(calls: Sequence[Call], puts: dict[str, Call], path: str) -> Refusals:
    """Where the queue was emptied in the end, each item is somewhere, and what acknowledgements do was done."""
    if not any(call.op == "length" and call.ok == ("0",) for call in calls):
        return
    came = {_item(call) for call in calls if call.op in ("get-item", "claim") and call.ok}
    missing = [put for item, put in puts.items() if put.ok is not None and item not in came]
    doubts = [call for call in calls if call.op == "get-item" and call.is_unknown]
    # Who dies with an item in its hands has it: at most once. But a claim gives it to the next one.
    if len(missing) > len(doubts):
        yield Refusal(f"{len(missing)} items are missing, and {len(doubts)} gets are unknown", path, tuple(missing[:5]))
    settled = [call for call in calls if call.op in ("ack", "ack-with-create")]
    perhaps = {call.args[0] for call in settled if not call.was_denied}
    claimed = {_item(call): call for call in calls if call.op == "claim" and call.ok}
    for item, call in claimed.items():
        if item not in perhaps:
            yield Refusal("a claimed item went without an acknowledgement", path, (call,))
    listed = [set(call.ok) for call in calls if call.op == "children" and call.ok is not None]
    for done in listed[-1:]:
        for call in settled:
            if call.op == "ack-with-create" and call.ok is not None and call.args[0] not in done:
                yield Refusal("an acknowledgement succeeded, and what belongs to it was not done", path, (call,))
        for item, put in puts.items():
            if put.ok is not None and item not in done:
                yield Refusal("an item is gone, and what its acknowledgement does was not done", path, (put,))


# What all do or none.


def two_phase_commit(calls: Sequence[Call], path: str, expired: Expired) -> Refusals:
    for id_, about in _by([call for call in calls if call.op in OF_A_TRANSACTION], _transaction).items():
        told = {call.ok[0]: call for call in about if call.op in ("2pc-outcome", "2pc-learn") and call.ok}
        if len(told) > 1:
            yield Refusal(f"{id_} has two outcomes", path, tuple(told.values()))
        begun = next((call for call in about if call.op == "2pc-begin"), None)
        if begun is None:
            yield Refusal(f"nobody began {id_}", path, tuple(about))
        elif "commit" in told:
            votes = [call for call in about if call.op == "2pc-vote"]
            for site in begun.args[1].split(","):
                cast = [call for call in votes if call.args[2] == site and call.called < told["commit"].end]
                if not any(call.args[1] == "commit" for call in cast):
                    yield Refusal(f"{id_} was committed without {site}", path, (begun, *cast, told["commit"]))


OF_A_TRANSACTION = {"2pc-begin", "2pc-outcome", "2pc-learn", "2pc-vote"}


def _transaction(call: Call) -> str:
    return call.args[0]


# What begins together.


def double_barrier(calls: Sequence[Call], path: str, expired: Expired) -> Refusals:
    """Who has entered was there at some moment with as many as there are parties."""
    parties = int(next(call.args[0] for call in calls if call.op == "double-barrier"))
    there = list[tuple[Call, float]]()
    for mine in _by(calls, lambda call: call.client).values():
        for place, enter in enumerate(mine):
            if enter.op == "barrier-enter":
                if _is_unsure(enter):
                    # A server that answers has done before what it was asked for before.
                    outs = [call for call in mine[place + 1 :] if call.ok is not None]
                else:
                    outs = [call for call in mine[place:] if _is_out(call)]
                there.append((enter, outs[0].answered or NEVER if outs else NEVER))
    for enter, _ in there:
        if enter.ok is not None:
            # Somebody came last.
            moments = [other.called for other, _ in there if enter.called <= other.called < enter.end]
            most = max(sum(other.called <= moment < until for other, until in there) for moment in moments)
            if most < parties:
                near = tuple(other for other, until in there if other.called < enter.end and enter.called < until)
                yield Refusal(f"one of {parties} entered when {most} at most were there", path, near)


# In seconds: for so long a member waits for a server when its time has run out.
SERVERS_MAY_TAKE = 0.25


def _is_unsure(enter: Call) -> bool:
    """Whether no server answered when its time ran out. Others may count it until its node has gone, as is
    documented."""
    if enter.error != "TIMEOUT" or enter.answered is None or not enter.args:
        return False
    return enter.answered - enter.called >= int(enter.args[-1]) / 1000 + SERVERS_MAY_TAKE


def _is_out(call: Call) -> bool:
    if call.op == "barrier-enter":
        return call.was_denied
    return call.op in ("barrier-leave", "barrier-withdraw") and call.ok is not None


# What is one value.


def _linear(model: linear.Model, initial: Callable[[Sequence[Call]], linear.State], made: str) -> Checker:
    def check(calls: Sequence[Call], path: str, expired: Expired) -> Refusals:
        own = sorted((call for call in calls if call.op != made), key=lambda call: call.called)
        try:
            wrong = linear.first_that_fits_nowhere(own, model, initial(calls))
        except linear.TooManyStates as error:
            print(f"{path}: too much is unknown to decide ({error})")
            return
        if wrong is not None:
            near = [call for call in own if call.called < wrong.end and call.end > wrong.called - 0.5]
            yield Refusal(f"no order of the calls explains the answer to {wrong}", path, tuple(near[-12:]))

    return check


RECIPES: dict[str, Checker] = {
    "lock": lock,
    "read-write": read_write,
    "semaphore": semaphore,
    "election": election,
    "partitioner": partitioner,
    "queue": queue,
    "two-phase-commit": two_phase_commit,
    "double-barrier": double_barrier,
    "counter": _linear(linear.counter, lambda _: 0, "counter"),
    "config": _linear(linear.config, lambda _: None, "config"),
    "latch": _linear(
        linear.latch, lambda calls: int(next(call.args[-1] for call in calls if call.op == "latch")), "latch"
    ),
}


def check(history: History) -> list[Refusal]:
    expired = history.expired()
    found = list[Refusal]()
    for (recipe, path), calls in sorted(_by(history.calls, lambda call: (call.recipe, call.path)).items()):
        calls.sort(key=lambda call: call.called)
        if recipe in RECIPES:
            found += RECIPES[recipe](calls, path, expired)
    return found


def lost_guarded(history: History) -> tuple[int, int]:
    """Of writes under a guard, how many were lost, and of how many."""
    return _lost([call for call in history.calls if call.op == "guarded-set"])


def lost_unguarded(history: History) -> tuple[int, int]:
    """The same of writes without a guard: nothing is promised of them."""
    return _lost([call for call in history.calls if call.recipe == "unguarded" and call.op == "set"])


def _lost(writes: Iterable[Call]) -> tuple[int, int]:
    written = Counter((call.path, call.args) for call in writes if call.ok is not None)
    return sum(times - 1 for times in written.values()), sum(written.values())


def _by(all_: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    found = defaultdict[K, list[T]](list)
    for one in all_:
        found[key(one)].append(one)
    return dict(found)


def _first(call: Call) -> int:
    return int(call.ok[0]) if call.ok else 0


def _item(call: Call) -> str:
    return call.ok[0] if call.ok else ""


def _last_yes(stay: Stay) -> Call:
    return [call for call in stay.later if call.op in ASKS and call.ok == ("true",)][-1]


def main() -> int:
    with Path(sys.argv[1]).open() as lines:
        refusals = check(read(lines))
    for refusal in refusals:
        print(refusal)
    return 1 if refusals else 0


if __name__ == "__main__":
    sys.exit(main())
