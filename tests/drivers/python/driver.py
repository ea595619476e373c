"""The scenario driver of blocking Python: a thread per command that may wait."""

from __future__ import annotations

import contextlib
import gc
import queue
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from typing import Any, TypeAlias

from protocol import (
    Command,
    answer,
    hush,
    names_of,
    parse,
    permits,
    refuse,
    say,
    seconds,
    truth,
    whole,
)  # finds the package, so it comes first

# isort: split
import commits
import queues
import recipes
import zkrecipes
from generated import options_of

clients: dict[str, zkrecipes.Client] = {}
Handle: TypeAlias = zkrecipes.Lock | zkrecipes.MultiLock | zkrecipes.Semaphore | zkrecipes.Election
handles: dict[tuple[str, str], Handle] = {}
# What was acquired through each handle and not released, the latest last.
acquired: dict[tuple[str, str], list[zkrecipes.Held]] = {}
# The handle that an outstanding command waits on, by the command's number.
waiting: dict[str, Any] = {}

AT_ONCE = (
    recipes.MAKES
    | queues.MAKES
    | {
        "election",
        "update-hosts",
        "state",
        "session",
        "lease",
        "watch-state",
        "lock",
        "rwlock",
        "multilock",
        "semaphore",
        "held",
        "token",
        "tokens",
        "passes",
        "sequencer",
        "cancel",
        "watch-lost",
        "watch-revoke",
        "free",
    }
)


def lost(client: str, name: str, error: zkrecipes.Lost) -> None:
    say("event", client, "lost", name, error.reason or "")


def perform(command: Command) -> list[str]:
    _, who, verb, args = command
    if verb == "connect":
        clients[who] = zkrecipes.Client(args[0], **options_of("client", args[1:]))
        return []
    client = clients[who]
    if verb == "close":
        client.close(seconds(args))
    elif verb == "update-hosts":
        client.update_hosts(args[0])
    elif verb == "state":
        return [client.state]
    elif verb == "session":
        return [str(client.session_id)]
    elif verb == "lease":
        return [str(int(client.lease_remaining * 1000))]
    elif verb == "watch-state":
        client.on_state(lambda state: say("event", who, "state", state))
    elif verb == "lock":
        name, path, *options = args
        handles[who, name] = client.lock(path, **options_of("lock", options))
    elif verb == "rwlock":
        name, path = args
        both = client.read_write_lock(path)
        handles[who, f"{name}.read"], handles[who, f"{name}.write"] = (
            both.read,
            both.write,
        )
    elif verb == "multilock":
        name, *names = args
        handles[who, name] = client.multi_lock([lock_of(handles[who, one]) for one in names])
    elif verb == "semaphore":
        name, path, size = args
        handles[who, name] = client.semaphore(path, whole(size))
    elif verb == "election":
        name, path, *options = args
        data = [word.removeprefix("data=") for word in options if word.startswith("data=")]
        words = [word for word in options if not word.startswith("data=")]
        election = client.election(path, *data, **options_of("election", words))
        handles[who, name] = recipes.recipes[who, name] = election
    elif verb == "check-sequencer":
        return [truth(client.check_sequencer(args[0]))]
    elif verb == "watch-sequencer":
        client.watch_sequencer(args[0])
    elif verb in ("create", "set", "delete", "get", "exists", "children"):
        return nodes(client, verb, args)
    elif commits.are_meant(command):
        with waits(command.seq, commits.waiting(command)):
            return at_once(commits.perform(client, command))
    elif queues.are_meant(command):
        with waits(command.seq, queues.queues.get((who, args[0]))):
            return at_once(queues.perform(client, command))
    elif verb in recipes.VERBS:
        with waits(command.seq, recipes.recipes.get((who, args[0]))):
            return at_once(recipes.perform(client, command))
    elif verb == "free":
        queues.forget((who, args[0]))
        commits.forget((who, args[0]))
        recipes.recipes.pop((who, args[0]), None)
        handles.pop((who, args[0]), None)
        acquired.pop((who, args[0]), None)
        gc.collect()
    else:
        return use_handle(command, handles[who, args[0]])
    return []


def at_once(answer: Coroutine[Any, Any, list[str]]) -> list[str]:
    """The answer of a coroutine that waits for nothing but verbs that block."""
    try:
        answer.send(None)
    except StopIteration as end:
        return list(end.value)
    raise AssertionError("a blocking verb was awaited")


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


recipes.Driver.follow = follow


def remember(key: tuple[str, str], held: zkrecipes.Held) -> list[str]:
    acquired.setdefault(key, []).append(held)
    return [str(held.fencing_token)]


def latest(key: tuple[str, str]) -> zkrecipes.Held:
    """What was acquired last through a handle, and not released since."""
    if not acquired.get(key):
        raise zkrecipes.NotHeld("nothing was acquired through this handle")
    return acquired[key][-1]


def lock_of(handle: Handle) -> zkrecipes.Lock:
    if not isinstance(handle, zkrecipes.Lock):
        raise zkrecipes.InvalidType("this verb is for locks")
    return handle


def semaphore_of(handle: Handle) -> zkrecipes.Semaphore:
    if not isinstance(handle, zkrecipes.Semaphore):
        raise zkrecipes.InvalidType("this verb is for semaphores")
    return handle


def election_of(handle: Handle) -> zkrecipes.Election:
    if not isinstance(handle, zkrecipes.Election):
        raise zkrecipes.InvalidType("this verb is for elections")
    return handle


def leadership_of(held: zkrecipes.Held) -> zkrecipes.Leadership:
    assert isinstance(held, zkrecipes.Leadership)
    return held


terms: dict[tuple[str, str], queue.SimpleQueue[bool]] = {}


def lead(key: tuple[str, str], election: zkrecipes.Election) -> None:
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

    election.run(work)


def end_term(key: tuple[str, str], fails: bool) -> None:
    terms.pop(key).put(fails)


def end_blocked_term(key: tuple[str, str]) -> None:
    """Nothing takes a thread away from its work: it has to end by itself."""
    if key in terms:
        end_term(key, False)


recipes.Driver.run = lead
recipes.Driver.end_term = end_term


def acquire(handle: Handle, n: int, *, blocking: bool = True, timeout: float | None = None) -> zkrecipes.Held | None:
    if isinstance(handle, zkrecipes.Semaphore):
        return handle.acquire(n, blocking, timeout=timeout)
    return handle.acquire(blocking, timeout=timeout)


@contextlib.contextmanager
def waits(seq: str, handle: Any) -> Iterator[None]:
    """Meanwhile `withdraw` may end the command."""
    waiting[seq] = handle
    try:
        yield
    finally:
        del waiting[seq]


def use_handle(command: Command, handle: Handle) -> list[str]:
    seq, who, verb, args = command
    key = who, args[0]
    if verb == "campaign":
        with waits(seq, handle):
            return remember(key, election_of(handle).campaign(seconds(args[1:])))
    if verb == "acknowledge":
        leadership_of(latest(key)).acknowledge(args[1])
        return []
    if verb in ("acquire", "try"):
        with waits(seq, handle):
            if verb == "try":
                held = acquire(handle, permits(args[1:]), blocking=False)
            else:
                held = acquire(handle, permits(args[2:]), timeout=seconds(args[1:]))
        if held is not None:
            return remember(key, held)
        if verb == "try":
            return ["none"]
        raise zkrecipes.Timeout("the time ran out")
    if verb == "downgrade":
        reading = lock_of(handle).downgrade()
        acquired[key].pop()
        return remember((who, args[0].replace(".write", ".read")), reading)
    if verb in ("release", "resign"):
        if acquired.get(key):
            acquired[key].pop()
        if verb == "resign" and args[1:] != ["nowait"]:
            election_of(handle).resign()
            end_blocked_term(key)
        else:
            handle.release(wait=args[1:] != ["nowait"])
    elif verb == "verify":
        handle.verify()
    elif verb == "cancel":
        handle.cancel()
        end_blocked_term(key)
    elif verb == "held":
        return [truth(handle.is_held)]
    elif verb == "token":
        return [str(handle.fencing_token)]
    elif verb == "watch-lost":
        handle.on_lost(lambda error: lost(who, args[0], error))
    elif verb == "watch-revoke":
        latest(key).on_revoke(lambda: say("event", who, "revoked", args[0]))
    elif verb == "revoke":
        contender, force_after = args[1] if args[1:] else "", seconds(args[2:])
        with waits(seq, handle):
            return [truth(handle.revoke(contender or None, force_after))]
    elif verb == "tokens":
        return [str(token) for token in latest(key).fencing_tokens]
    elif verb == "passes":
        return [str(latest(key).passes)]
    elif verb == "sequencer":
        return [latest(key).sequencer]
    elif verb == "holders":
        return [holder.identity for holder in semaphore_of(handle).holders()]
    elif verb == "resize":
        semaphore_of(handle).resize(whole(args[1]))
    elif verb == "contenders":
        return names_of(handle.contenders())
    elif verb in ("guarded-set", "guarded-create"):
        _, path, data = args
        transaction = handle.guarded()
        if verb == "guarded-set":
            transaction.set(path, data)
        else:
            transaction.create(path, data)
        transaction.commit()
    else:
        raise zkrecipes.Invalid(f"no such verb: {verb}")
    return []


def nodes(client: zkrecipes.Client, verb: str, args: list[str]) -> list[str]:
    path, *data = args
    if verb == "create":
        client.nodes.create(path, data[0])
    elif verb == "set":
        client.nodes.set(path, data[0])
    elif verb == "delete":
        client.nodes.delete(path)
    elif verb == "get":
        return [client.nodes.get(path)[0].decode()]
    elif verb == "exists":
        return [truth(client.nodes.exists(path))]
    elif verb == "children":
        return client.nodes.children(path)
    return []


def withdraw(seq: str, outstanding: str) -> None:
    """The blocking way to cancel: `lock.cancel()`, once the wait is under way."""
    while handle := waiting.get(outstanding):
        handle.cancel()
        time.sleep(0.005)
    answer(seq)


def run(command: Command) -> None:
    try:
        values = perform(command)
    except Exception as error:
        refuse(command.seq, error)
    else:
        answer(command.seq, *values)


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
