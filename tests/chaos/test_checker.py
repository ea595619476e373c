"""The checker refuses what breaks a promise, and nothing else. Each history is written as it is told:

CLIENT  CALLED-ANSWERED  OP ARGS -> ANSWER      `?` for no answer, `!KIND` for an error
"""

from __future__ import annotations

import io
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from checker import RECIPES, Expired, check, lost_guarded, lost_unguarded
from history import FORCED_END, GUESTS, Call, Fault, History, read, write


def calls(recipe: str, told: str) -> list[Call]:
    found = []
    for line in told.strip().splitlines():
        said, _, answer = (part.strip() for part in line.partition("->"))
        client, times, op, *args = said.split()
        called, answered = (float(time) if time else None for time in times.split("-"))
        ok = None if answer.startswith(("?", "!")) else tuple(answer.split())
        error = answer[1:] if answer.startswith("!") else None
        ended = None if answer == "?" else answered
        found.append(Call(client, recipe, "/p", op, tuple(args), called or 0.0, ended, ok, error))
    return found


def refused(recipe: str, told: str, expired: Expired | None = None) -> list[str]:
    return [refusal.promise for refusal in RECIPES[recipe](calls(recipe, told), "/p", expired or {})]


GOOD = {
    "lock": [
        # One after the other; a guarded write of the older one is refused.
        """
        A 0-1 acquire -> 10
        A 2-3 held -> true
        A 3-4 guarded-set /n 1 -> ok
        A 5-6 release ->
        B 0-7 acquire -> 12
        B 8-9 held -> true
        A 8-9 guarded-set /n 2 -> !NOT_HELD
        """,
        # That it was held is certain until the call of the last question that was answered yes.
        """
        A 0-1 acquire -> 10
        A 2-9 held -> true
        B 0-3 acquire -> 12
        B 4-5 held -> true
        """,
        # Who got none has no token; an answer that never came is no acquisition.
        """
        A 0-1 acquire -> 10
        B 0-1 acquire -> !TIMEOUT
        C 0-1 acquire -> ?
        """,
        # Written, and nobody knows: the next one writes the same value or the one after.
        """
        A 0-1 acquire -> 10
        A 2-3 guarded-set /n 1 -> !CONNECTION_LOST
        B 0-4 acquire -> 12
        B 5-6 guarded-set /n 1 ->
        """,
    ],
    "read-write": [
        """
        A.read 0-1 acquire -> 10
        B.read 0-1 acquire -> 10
        A.read 2-3 held -> true
        B.read 2-3 held -> true
        A.read 4-5 release ->
        B.read 4-5 release ->
        C.write 0-6 acquire -> 12
        C.write 7-8 held -> true
        """
    ],
    "semaphore": [
        """
        A 0-0.1 semaphore 2 ->
        A 0-1 acquire -> 10
        B 0-1 acquire -> 11
        A 2-3 held -> true
        B 2-3 held -> true
        A 4-5 release ->
        C 0-6 acquire -> 12
        C 7-8 held -> true
        """
    ],
    "election": [
        """
        A 0-1 campaign -> 10
        A 2-3 acknowledge ready ->
        C 3-4 leader -> a 10 acknowledged ready
        A 5-6 resign ->
        B 0-7 campaign -> 12
        C 3-8 leader -> a 10 acknowledged ready
        C 8-9 leader -> b 12 elected -
        C 9-9.5 leader -> none
        """
    ],
    "partitioner": [
        """
        A 0-1 next-partition -> x
        A 1-2 next-partition -> y
        A 2-3 has-partition x -> true
        A 3-4 release-partition x ->
        B 0-5 next-partition -> x
        A 5-6 has-partition y -> true
        B 5-6 has-partition x -> true
        """
    ],
    "queue": [
        """
        A 0-1 put a1 ->
        A 1-2 put a2 ->
        A 2-3 put a3 -> !TIMEOUT
        A 2-3 put a4 -> !CONNECTION_LOST
        B 0-3 get-item -> a1
        B 3-4 get-item -> a2
        B 5-6 get-item -> a4
        B 7-8 length -> 0
        """,
        # It comes again until it is acknowledged.
        """
        A 0-1 put a1 ->
        B 0-2 claim -> a1 1
        C 2-3 claim -> a1 2
        C 4-5 ack-with-create a1 -> !CONNECTION_LOST
        D 4-6 claim -> a1 3
        D 7-8 ack-with-create a1 ->
        E 8-9 length -> 0
        E 9-10 children -> a1
        """,
        # An item is in the hands of who died.
        """
        A 0-1 put a1 ->
        B 0-2 get-item -> ?
        C 3-4 length -> 0
        """,
    ],
    "two-phase-commit": [
        """
        A 0-1 2pc-begin one x,y data ->
        B 1-2 2pc-vote one commit x ->
        C 1-2 2pc-vote one commit y -> ?
        A 1-3 2pc-outcome one -> commit
        B 3-4 2pc-learn one -> commit
        A 4-5 2pc-begin two x,y data -> ?
        B 5-6 2pc-learn two -> abort
        """
    ],
    "double-barrier": [
        """
        A 0-0.1 double-barrier 2 ->
        A 0-3 barrier-enter -> !TIMEOUT
        B 1-6 barrier-enter ->
        C 4-6 barrier-enter ->
        B 7-9 barrier-leave ->
        C 8-9 barrier-leave ->
        A 8-9.5 barrier-enter -> !TIMEOUT
        """,
        # No server answered when its time ran out: its node may be there until one does.
        """
        A 0-0.1 double-barrier 2 ->
        A 0-3.3 barrier-enter 3000 -> !TIMEOUT
        B 3.4-3.6 barrier-enter 3000 ->
        A 3.5-4 barrier-withdraw ->
        """,
        # Who has died is there until nobody knows when.
        """
        A 0-0.1 double-barrier 2 ->
        A 0-3 barrier-enter -> ?
        B 4-6 barrier-enter ->
        """,
    ],
    "counter": [
        """
        A 0-1 add 1 -> 1
        A 2-3 add 1 -> ?
        B 2-4 add 1 -> 3
        B 5-6 value -> 3
        C 5-9 compare-and-set 3 7 -> true
        B 6-7 value -> 7
        B 8-9 set-value 2 ->
        A 8-9 value -> 7
        """,
        # An unknown one may take effect late, or never.
        """
        A 0-1 add 1 -> !CONNECTION_LOST
        B 2-3 value -> 0
        B 4-5 value -> 1
        C 6-7 add 5 -> !CLOSED
        B 8-9 value -> 1
        """,
    ],
    "config": [
        """
        A 0-1 config-get -> none
        A 1-2 config-create a -> 0
        B 1-3 config-create b -> !EXISTS
        B 3-4 config-set c 0 -> 1
        A 3-5 config-set d 0 -> !BAD_VERSION
        C 5-6 config-set e -> !CONNECTION_LOST
        C 6-7 config-get -> 1 c
        C 8-9 config-update x -> 3 ex
        """
    ],
    "latch": [
        """
        A 0-0.1 latch 3 ->
        A 0-1 count-down 1 -> 2
        B 0-1 count-down 1 -> ?
        A 2-3 remaining -> 2
        A 4-5 remaining -> 1
        C 5-6 count-down 1 -> 0
        C 6-7 count-down 1 -> 0
        """
    ],
}

BAD = {
    "lock": [
        ("the same token", "A 0-1 acquire -> 10\nB 2-3 acquire -> 10"),
        ("lower", "A 0-1 acquire -> 12\nB 2-3 acquire -> 10"),
        (
            "held it at the same time",
            "A 0-1 acquire -> 10\nA 5-6 held -> true\nB 0-3 acquire -> 12\nB 4-5 held -> true",
        ),
        ("applied after a newer one", "A 0-1 acquire -> 10\nB 2-3 acquire -> 12\nA 4-5 guarded-set /n 1 ->"),
        (
            "a write was lost",
            "A 0-1 acquire -> 10\nA 2-3 guarded-set /n 1 ->\nA 3-4 release ->\n"
            "B 4-5 acquire -> 12\nB 6-7 guarded-set /n 1 ->",
        ),
    ],
    "read-write": [
        (
            "read while",
            "A.read 0-1 acquire -> 10\nA.read 5-6 held -> true\nB.write 0-3 acquire -> 12\nB.write 4-5 held -> true",
        ),
        (
            "held it at",
            "A.write 0-1 acquire -> 10\nA.write 5-6 held -> true\nB.write 0-3 acquire -> 12\nB.write 4-5 held -> true",
        ),
        ("lower token", "A.write 0-1 acquire -> 12\nA.write 1-2 release ->\nB.read 3-4 acquire -> 10"),
        ("applied after", "A.read 0-1 acquire -> 10\nB.write 2-3 acquire -> 12\nA.read 4-5 guarded-set /n 1 ->"),
    ],
    "semaphore": [
        (
            "3 held it",
            "A 0-0.1 semaphore 2 ->\n"
            + "".join(
                f"{who} 0-1 acquire -> {token}\n{who} 2-3 held -> true\n"
                for who, token in zip("ABC", (10, 11, 12), strict=True)
            ),
        ),
        (
            "2 held it",
            "A 0-0.1 semaphore 1 ->\nA 0-1 acquire -> 10\nA 5-6 held -> true\nB 0-2 acquire -> 11\nB 3-4 held -> true",
        ),
        (
            "2 held it",  # released and taken again, beside another one
            "A 0-0.1 semaphore 1 ->\nA 0-1 acquire -> 1\nA 1-2 release ->\nA 2-3 acquire -> 3\nA 8-9 held -> true\n"
            "B 2-4 acquire -> 4\nB 5-6 held -> true",
        ),
    ],
    "election": [
        ("the epoch 10", "A 0-1 campaign -> 10\nB 0-1 campaign -> 10"),
        ("held it", "A 0-1 campaign -> 10\nA 5-6 leads -> true\nB 0-3 campaign -> 12\nB 4-5 leads -> true"),
        ("applied after", "A 0-1 campaign -> 10\nB 2-3 campaign -> 12\nA 4-5 acknowledge ready ->"),
        ("a leader was told", "A 0-1 campaign -> 10\nB 2-3 campaign -> 12\nC 4-5 leader -> a 10 elected -"),
    ],
    "partitioner": [
        (
            "held it",
            "A 0-1 next-partition -> x\nA 5-6 has-partition x -> true\n"
            "B 0-2 next-partition -> x\nB 3-4 has-partition x -> true",
        ),
        (
            "held it",
            "A 0-1 next-partition -> x\nA 1-2 next-partition -> y\nA 5-6 has-partition y -> true\n"
            "B 0-2 next-partition -> y\nB 3-4 has-partition y -> true",
        ),
        (
            "held it",
            "A 0-1 next-partition -> x\nA 1-2 release-partition x ->\nA 2-3 next-partition -> x\n"
            "A 9-10 has-partition x -> true\nB 0-4 next-partition -> x\nB 5-6 has-partition x -> true",
        ),
    ],
    "queue": [
        ("nobody had put", "A 0-1 put a1 ->\nB 0-2 get-item -> a2"),
        ("nobody had put", "B 0-2 get-item -> a1\nA 3-4 put a1 ->"),
        ("as the putter was told", "A 0-1 put a1 -> !TIMEOUT\nB 0-2 get-item -> a1"),
        ("got more than once", "A 0-1 put a1 ->\nB 0-2 get-item -> a1\nC 3-4 get-item -> a1"),
        ("another order", "A 0-1 put a1 ->\nA 2-3 put a2 ->\nB 4-5 get-item -> a2\nB 6-7 get-item -> a1"),
        ("1 items are missing", "A 0-1 put a1 ->\nB 4-5 length -> 0"),
        ("after its acknowledgement", "A 0-1 put a ->\nB 0-2 claim -> a 1\nB 2-3 ack a ->\nC 4-5 claim -> a 2"),
        (
            "acknowledged more than",
            "A 0-1 put a ->\nB 0-2 claim -> a 1\nC 0-2 claim -> a 1\nB 2-3 ack a ->\nC 2-3 ack a ->",
        ),
        ("was done before", "A 0-1 put a ->\nB 0-2 claim -> a 1\nB 2-3 ack-with-create a -> !EXISTS"),
        ("without an acknowledgement", "A 0-1 put a ->\nB 0-2 claim -> a 1\nC 4-5 length -> 0"),
        (
            "what belongs to it was not done",
            "A 0-1 put a ->\nB 0-2 claim -> a 1\nB 2-3 ack-with-create a ->\nC 4-5 length -> 0\nC 5-6 children ->",
        ),
    ],
    "two-phase-commit": [
        ("two outcomes", "A 0-1 2pc-begin one x d ->\nA 2-3 2pc-outcome one -> abort\nB 4-5 2pc-learn one -> commit"),
        ("without y", "A 0-1 2pc-begin one x,y d ->\nB 1-2 2pc-vote one commit x ->\nA 2-3 2pc-outcome one -> commit"),
        (
            "without x",
            "A 0-1 2pc-begin one x d ->\nB 1-2 2pc-vote one abort x ->\nB 3-4 2pc-learn one -> commit",
        ),
        ("nobody began", "B 3-4 2pc-learn one -> commit"),
    ],
    "double-barrier": [
        ("when 1 at most", "A 0-0.1 double-barrier 2 ->\nA 0-1 barrier-enter ->\nB 2-3 barrier-enter ->"),
        (
            "when 1 at most",
            "A 0-0.1 double-barrier 2 ->\nA 0-1 barrier-enter -> !TIMEOUT\nB 2-3 barrier-enter ->",
        ),
        (
            "when 1 at most",
            "A 0-0.1 double-barrier 2 ->\nA 0-3.1 barrier-enter 3000 -> !TIMEOUT\nB 3.4-3.6 barrier-enter 3000 ->",
        ),
        (
            "when 1 at most",
            "A 0-0.1 double-barrier 2 ->\nA 0-3.3 barrier-enter 3000 -> !TIMEOUT\n"
            "A 3.4-3.5 barrier-withdraw ->\nB 4-5 barrier-enter 3000 ->",
        ),
        (
            "when 2 at most",
            "A 0-0.1 double-barrier 3 ->\nA 0-2 barrier-enter ->\nB 0-2 barrier-enter ->\n"
            "A 3-4 barrier-leave ->\nC 5-6 barrier-enter -> ?",
        ),
    ],
    "counter": [
        ("no order", "A 0-1 add 1 -> 1\nB 2-3 add 1 -> 1"),
        ("no order", "A 0-1 add 1 -> 1\nB 2-3 value -> 0"),
        ("no order", "A 0-1 add 1 -> ?\nB 2-3 value -> 2"),
        ("no order", "A 0-1 compare-and-set 0 5 -> true\nB 2-3 compare-and-set 0 6 -> true"),
        ("no order", "A 0-1 compare-and-set 0 5 -> false\nB 0-3 value -> 0"),
        ("no order", "A 0-1 add 1 -> ?\nB 2-3 value -> 1\nB 4-5 value -> 0"),
    ],
    "config": [
        ("no order", "A 0-1 config-set a -> 0\nB 2-3 config-get -> none"),
        ("no order", "A 0-1 config-set a -> 0\nB 2-3 config-set b -> 0"),
        ("no order", "A 0-1 config-set a -> 0\nB 2-3 config-set b 0 -> !BAD_VERSION"),
        ("no order", "A 0-1 config-set a -> 0\nB 2-3 config-update x -> 1 x"),
    ],
    "latch": [
        ("no order", "A 0-0.1 latch 3 ->\nA 0-1 count-down 1 -> 1"),
        ("no order", "A 0-0.1 latch 3 ->\nA 0-1 count-down 1 -> 2\nB 2-3 count-down 1 -> 2"),
        ("no order", "A 0-0.1 latch 3 ->\nA 0-1 count-down 1 -> 2\nB 2-3 remaining -> 3"),
    ],
}


@pytest.mark.parametrize(("recipe", "told"), [(recipe, told) for recipe, all_ in GOOD.items() for told in all_])
def test_what_keeps_the_promises_is_not_refused(recipe: str, told: str) -> None:
    assert refused(recipe, told.replace("-> ok\n", "->\n")) == []


@pytest.mark.parametrize(("recipe", "why", "told"), [(recipe, *bad) for recipe, all_ in BAD.items() for bad in all_])
def test_what_breaks_a_promise_is_refused(recipe: str, why: str, told: str) -> None:
    promises = refused(recipe, told)
    assert any(why.replace("the same token", "have the token") in promise for promise in promises), promises


def test_each_recipe_has_three_histories_that_are_refused() -> None:
    assert {recipe: len(all_) for recipe, all_ in BAD.items() if len(all_) < 3} == {}
    assert BAD.keys() == GOOD.keys() == RECIPES.keys()


def test_nobody_is_certain_of_a_session_that_was_ended_by_force() -> None:
    both = "A/1 0-1 acquire -> 10\nA/1 5-6 held -> true\nB/1 0-3 acquire -> 12\nB/1 4-5 held -> true"
    assert refused("lock", both)
    assert refused("lock", both, {"A": [(2.5, 2.6)]}) == []
    # Before it was acquired, or of somebody else.
    assert refused("lock", both, {"A": [(-1.0, -0.5)]})
    assert refused("lock", both, {"C": [(2.5, 2.6)]})


def test_guests_are_not_believed_what_they_hold_and_their_guarded_writes_are() -> None:
    both = "A 0-1 acquire -> 10\nA 5-6 held -> true\nB 0-3 acquire -> 12\nB 4-5 held -> true"
    lost = "A 1-2 guarded-set /n 1 ->\nB 3-4 guarded-set /n 1 ->"
    assert refused("lock", both)
    for guest in GUESTS:

        def said(told: str, guest: str = guest) -> History:
            return History(
                [replace(call, language=guest if call.client == "B" else "") for call in calls("lock", told)]
            )

        assert check(said(both)) == []
        assert [refusal.promise[:16] for refusal in check(said(both + "\n" + lost))] == ["a write was lost"]


def test_lost_writes_are_counted_with_and_without_a_guard() -> None:
    told = "A 0-1 {0} /n 1 ->\nB 2-3 {0} /n 1 ->\nA 4-5 {0} /n 2 ->\nB 6-7 {0} /n 2 -> ?\nA 8-9 {0} /n 3 -> !NOT_HELD"
    guarded, unguarded = (
        calls(*made) for made in (("lock", told.format("guarded-set")), ("unguarded", told.format("set")))
    )
    assert lost_guarded(History(guarded)) == lost_unguarded(History(unguarded)) == (1, 3)
    assert lost_guarded(History(unguarded)) == lost_unguarded(History(guarded)) == (0, 0)


def test_a_history_is_read_as_it_was_written() -> None:
    history = History(calls("counter", "A 0-1 add 1 -> 1\nB 2-3 add 1 -> ?"), [Fault(FORCED_END, "A", 0.5, 0.6)])
    text = io.StringIO()
    write(history, text)
    again = read(text.getvalue().splitlines())
    assert again == history
    assert check(again) == []


def test_random_counts_are_explained_and_a_changed_answer_is_not() -> None:
    """Clients at random, of which each takes effect at a moment between its call and its answer."""
    for seed in range(20):
        chance = random.Random(seed)
        moments = sorted((chance.uniform(0, 60), number) for number in range(150))
        value, made = 0, list[Call]()
        for moment, _ in moments:
            called, answered = moment - chance.expovariate(4), moment + chance.expovariate(4)
            is_lost = chance.random() < 0.04
            kind = chance.choice(["add", "value", "compare-and-set"])
            if kind == "add":
                args = [str(chance.randint(1, 3))]
                value += int(args[0])
                answer = str(value)
            elif kind == "value":
                args, answer = [], str(value)
            else:
                old = chance.choice([value, value - 1])
                args, answer = [str(old), str(old + 5)], "true" if old == value else "false"
                value = old + 5 if old == value else value
            call = Call("A", "counter", "/p", kind, tuple(args), called)
            made.append(call if is_lost else replace(call, answered=answered, ok=(answer,)))
        assert check(History(made)) == [], seed
        number = next(n for n in range(70, 150) if made[n].op == "add" and made[n].ok)
        made[number] = replace(made[number], ok=(str(int((made[number].ok or ("",))[0]) + 40),))
        assert check(History(made)), seed
