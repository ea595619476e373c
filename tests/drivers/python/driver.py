"""The scenario driver of blocking Python: a thread per command that may wait."""

from __future__ import annotations

import gc
import sys
import threading
import time

from protocol import (
    Command,
    answer,
    connect_options,
    hush,
    names_of,
    parse,
    refuse,
    say,
    seconds,
    truth,
)  # finds the package, so it comes first

# isort: split
import zkrecipes

clients: dict[str, zkrecipes.Client] = {}
locks: dict[tuple[str, str], zkrecipes.Lock] = {}
# The handle that an outstanding acquire waits on, by the command's number.
waiting: dict[str, zkrecipes.Lock] = {}

AT_ONCE = {"state", "session", "lease", "watch-state", "lock", "held", "token", "cancel", "watch-lost", "free"}


def lost(client: str, name: str, error: zkrecipes.Lost) -> None:
    say("event", client, "lost", name, error.reason or "")


def perform(command: Command) -> list[str]:
    _, who, verb, args = command
    if verb == "connect":
        clients[who] = zkrecipes.Client(args[0], **connect_options(args[1:]))
        return []
    client = clients[who]
    if verb == "close":
        client.close(seconds(args))
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
        locks[who, name] = client.lock(path, reentrant="reentrant" in options)
    elif verb in ("create", "set", "delete", "get", "exists", "children"):
        return nodes(client, verb, args)
    elif verb == "free":
        del locks[who, args[0]]
        gc.collect()
    else:
        return use_lock(command, locks[who, args[0]])
    return []


def use_lock(command: Command, lock: zkrecipes.Lock) -> list[str]:
    seq, who, verb, args = command
    if verb in ("acquire", "try"):
        waiting[seq] = lock
        try:
            held = lock.acquire(blocking=False) if verb == "try" else lock.acquire(timeout=seconds(args[1:]))
        finally:
            del waiting[seq]
        if held is not None:
            return [str(held.fencing_token)]
        if verb == "try":
            return ["none"]
        raise zkrecipes.Timeout("the time ran out")
    if verb == "release":
        lock.release()
    elif verb == "verify":
        lock.verify()
    elif verb == "cancel":
        lock.cancel()
    elif verb == "held":
        return [truth(lock.is_held)]
    elif verb == "token":
        return [str(lock.fencing_token)]
    elif verb == "watch-lost":
        lock.on_lost(lambda error: lost(who, args[0], error))
    elif verb == "contenders":
        return names_of(lock.contenders())
    elif verb in ("guarded-set", "guarded-create"):
        _, path, data = args
        transaction = lock.guarded()
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
    while lock := waiting.get(outstanding):
        lock.cancel()
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
