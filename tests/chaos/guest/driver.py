"""kazoo among the others: the words of drivers for a lock, with kazoo's own lock, which takes part in ours.

What it says that it holds is not certain, so the checker believes nothing of it but its guarded writes."""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Any, ClassVar

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException, LockTimeout, NodeExistsError, NoNodeError, RolledBackError
from kazoo.recipe.lock import Lock

PATIENCE = 30.0
clients: dict[str, KazooClient] = {}
locks: dict[tuple[str, str], Any] = {}
output = threading.Lock()


class CuratorLock(Lock):  # type: ignore[misc]
    """As docs/interop.md has it."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES: ClassVar[list[str]] = ["-lock-", "__lock__"]


def perform(who: str, verb: str, args: list[str]) -> list[str]:
    if verb == "connect":
        clients[who] = KazooClient(args[0], timeout=4.0, connection_retry={"max_tries": -1, "max_delay": 0.5})
        clients[who].start(15)
        return []
    client = clients[who]
    key = who, args[0] if args else ""
    match verb, args:
        case "session", []:
            return [str(client.client_id[0])]
        case "lock", [_, path]:
            locks[key] = CuratorLock(client, path)
        case "free", _:
            locks.pop(key)
        case "acquire", [_, limit]:
            # After an outage it may wait for ever, and then only another process helps.
            hanging = threading.Timer(PATIENCE, os._exit, (3,))
            hanging.start()
            try:
                locks[key].acquire(timeout=int(limit) / 1000)
            except NoNodeError:
                # It makes its parent only once.
                locks[key] = CuratorLock(client, locks[key].path)
                raise
            finally:
                hanging.cancel()
            return [str(client.get(f"{locks[key].path}/{locks[key].node}")[1].czxid)]
        case "held", _:
            return ["true" if locks[key].is_acquired and client.state == KazooState.CONNECTED else "false"]
        case "release", _:
            locks[key].release()
        case "get", [path]:
            # It may have connected to another server, which lags.
            client.sync(path)
            return [client.get(path)[0].decode()]
        case "guarded-set", [_, path, data]:
            writes = client.transaction()
            writes.check(f"{locks[key].path}/{locks[key].node}", -1)
            writes.set_data(path, data.encode())
            for result in writes.commit():
                if isinstance(result, (NoNodeError, RolledBackError)):
                    return ["error", "NOT_HELD"]
                if isinstance(result, Exception):
                    raise result
    return []


def run(number: str, who: str, verb: str, *args: str) -> None:
    try:
        answer = perform(who, verb, list(args))
    except LockTimeout:
        answer = ["error", "TIMEOUT"]
    except NodeExistsError:
        answer = ["error", "EXISTS"]
    except (KazooException, KeyError, OSError, TypeError) as error:
        answer = ["error", type(error).__name__]
    if answer[:1] != ["error"]:
        answer = ["ok", *answer]
    with output:
        print(number, *answer, flush=True)


def main() -> None:
    logging.disable()
    for line in sys.stdin:
        threading.Thread(target=run, args=line.split(), daemon=True).start()
    os._exit(0)


if __name__ == "__main__":
    main()
