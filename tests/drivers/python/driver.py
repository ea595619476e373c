"""The scenario driver of blocking Python: a thread per command that may wait."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Coroutine
from typing import Any

from protocol import Command, answer, hush, parse, refuse, say  # finds the package, so it comes first

# isort: split
import family
import queues
import recipes
import zkrecipes
from recipes import Driver, Key, unhealthy

# The handle that an outstanding command waits on, by the command's number.
waiting: dict[str, Any] = {}

AT_ONCE = {
    *recipes.MAKES,
    *queues.MAKES,
    *("lock", "rwlock", "multilock", "semaphore", "election", "free", "cancel"),
    *("update-hosts", "state", "session", "lease", "waiting", "skipped"),
    *("held", "token", "tokens", "passes", "sequencer"),
    *("watch-state", "watch-lost", "watch-revoke"),
}
terms: dict[Key, queue.SimpleQueue[bool]] = {}


def follow(follower: recipes.Follower) -> None:
    def read() -> None:
        try:
            for item in follower.feed:
                follower.tell(item)
        except zkrecipes.Error as error:
            follower.end(error)
        else:
            follower.end()

    threading.Thread(target=read, daemon=True).start()


def lead(key: Key, election: zkrecipes.Election) -> None:
    def work(leadership: zkrecipes.Leadership) -> None:
        ends = terms[key] = queue.SimpleQueue[bool]()
        say("event", key[0], "term", key[1], str(leadership.epoch))
        leadership.on_lost(lambda _: ends.put(False))
        fails = ends.get()
        # At once, so that nobody who hears that it is over still finds us leading.
        with contextlib.suppress(zkrecipes.Error):
            leadership.release(wait=False)
        say("event", key[0], "over", key[1], str(leadership.epoch))
        if fails:
            raise RuntimeError("told to fail")

    election.run(work, lambda: key not in unhealthy)


def end_term(key: Key, fails: bool) -> None:
    terms.pop(key).put(fails)


def end_blocked_term(key: Key) -> None:
    """Nothing takes a thread away from its work: it has to end by itself."""
    if key in terms:
        end_term(key, False)


Driver.face = zkrecipes
Driver.connect = lambda hosts, options: zkrecipes.Client(hosts, **options)
Driver.follow, Driver.run = follow, lead
Driver.end_term, Driver.end_blocked_term = end_term, end_blocked_term


def at_once(answer: Coroutine[Any, Any, list[str]]) -> list[str]:
    """The answer of a coroutine that waits for nothing but verbs that block."""
    try:
        answer.send(None)
    except StopIteration as end:
        return list(end.value)
    raise AssertionError("a blocking verb was awaited")


def withdraw(seq: str, outstanding: str) -> None:
    """The blocking way to cancel: `lock.cancel()`, once the wait is under way."""
    while handle := waiting.get(outstanding):
        handle.cancel()
        time.sleep(0.005)
    answer(seq)


def run(command: Command) -> None:
    if command.verb not in AT_ONCE:
        waiting[command.seq] = family.waiting(command)
    try:
        values = at_once(family.perform(command))
    except Exception as error:
        refuse(command.seq, error)
    else:
        answer(command.seq, *values)
    finally:
        waiting.pop(command.seq, None)


def main() -> None:
    for line in sys.stdin:
        command = parse(line)
        if command is None:
            break
        if command.verb == "withdraw":
            threading.Thread(target=withdraw, args=(command.seq, command.args[0]), daemon=True).start()
        elif command.verb in AT_ONCE:
            run(command)
        else:
            threading.Thread(target=run, args=(command,), daemon=True).start()
    hush()


if __name__ == "__main__":
    main()
