"""Whether calls can have taken effect one after the other, each between its call and its answer.

It goes through the calls and answers in the order of time, and keeps each state that the object can be in, with the
calls that were under way and have taken effect in it (Lowe, "Testing for linearizability", 2017: just-in-time
linearization). A call takes effect in a state only if its answer fits, so hardly more than one of them is left at any
time. One whose outcome nobody knows may take effect at any later time, or never.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from history import NEVER, Call

State = Hashable
# The states after a call with its answer: none when the answer does not fit, and all that are possible when it is
# unknown.
Model = Callable[[State, Call], Sequence[State]]
# A state, and which of the calls under way have taken effect.
Configuration = tuple[State, frozenset[int]]
# More of them than a history of ours can have by chance.
MOST = 200_000


class TooManyStates(Exception):
    """So much is unknown that nothing can be said."""


def first_that_fits_nowhere(calls: Sequence[Call], model: Model, initial: State) -> Call | None:
    """The first answer for which no order is left; None if there is an order of all."""
    # What was denied takes no effect, but its answer tells of the state.
    events = [(call.called, 1, number) for number, call in enumerate(calls)]
    events += [(ended, 0, number) for number, call in enumerate(calls) if (ended := _end(call)) != NEVER]
    # Of two at the same time the call goes first: they may have overlapped.
    events.sort(key=lambda event: (event[0], -event[1], event[2]))
    possible: set[Configuration] = {(initial, frozenset())}
    under_way: set[int] = set()
    for _, is_call, number in events:
        if is_call:
            under_way.add(number)
            continue
        possible = _with_effect_of(number, possible, under_way, calls, model)
        under_way.discard(number)
        if not possible:
            return calls[number]
    return None


def _end(call: Call) -> float:
    return call.answered if call.answered is not None and not call.is_unknown else NEVER


def _with_effect_of(
    number: int, possible: set[Configuration], under_way: set[int], calls: Sequence[Call], model: Model
) -> set[Configuration]:
    """What is possible when that call has been answered: others under way may have taken effect before it."""
    found: set[Configuration] = set()
    seen = set(possible)
    left = list(possible)
    while left:
        state, done = left.pop()
        if number in done:
            found.add((state, done - {number}))
            continue
        tried: set[tuple[object, ...]] = set()
        for other in sorted(under_way - done):
            # Of unknown calls that ask for the same it does not matter which: one that was called first may stand for
            # all.
            if calls[other].is_unknown:
                same = (calls[other].op, calls[other].args)
                if same in tried:
                    continue
                tried.add(same)
            for state_after in _after(state, calls[other], model):
                after = (state_after, done | {other})
                if after not in seen:
                    seen.add(after)
                    left.append(after)
        if len(seen) > MOST:
            raise TooManyStates(f"{len(seen)} states at {calls[number]}")
    return found


def _after(state: State, call: Call, model: Model) -> Sequence[State]:
    # Some denials tell of the state.
    if call.was_denied and call.error not in ("BAD_VERSION", "EXISTS"):
        return [state]
    return model(state, call)


def counter(state: State, call: Call) -> Sequence[State]:
    """A number; 0 until it is changed."""
    assert isinstance(state, int)
    answer = call.ok[0] if call.ok else None
    match call.op, call.args:
        case "add", (n,):
            after = state + int(n)
            return [after] if answer is None or int(answer) == after else []
        case "value", ():
            return [state] if answer is None or int(answer) == state else []
        case "compare-and-set", (old, new):
            fits = state == int(old)
            return [int(new) if fits else state] if answer in (None, "true" if fits else "false") else []
        case "set-value", (value,):
            return [int(value)]
    raise ValueError(f"no such operation of a counter: {call.op}")


def config(state: State, call: Call) -> Sequence[State]:
    """A value and its version, or None."""
    assert state is None or isinstance(state, tuple)
    answer = call.ok[0] if call.ok else None
    version, value = state or (-1, "")
    match call.op, call.args:
        case "config-get", ():
            told = ("none",) if state is None else (str(version), value)
            return [state] if call.ok is None or call.ok == told else []
        case "config-set" | "config-create", (new, *asked):
            fits = state is None if call.op == "config-create" else not asked or int(asked[0]) == version
            if call.was_denied:
                return [] if fits else [state]
            after = (version + 1, new)
            return [after] if fits and (answer is None or int(answer) == version + 1) else []
        case "config-update", (suffix,):
            after = (version + 1, value + suffix)
            return [after] if call.ok is None or call.ok == (str(after[0]), after[1]) else []
    raise ValueError(f"no such operation of a config: {call.op}")


def latch(state: State, call: Call) -> Sequence[State]:
    """What is left."""
    assert isinstance(state, int)
    answer = call.ok[0] if call.ok else None
    match call.op, call.args:
        case "count-down", (n,):
            after = max(0, state - int(n))
            return [after] if answer is None or int(answer) == after else []
        case "remaining", ():
            return [state] if answer is None or int(answer) == state else []
    raise ValueError(f"no such operation of a latch: {call.op}")
