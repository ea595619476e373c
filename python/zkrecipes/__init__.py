"""Distributed-coordination recipes on Apache ZooKeeper; this module blocks, `zkrecipes.aio` awaits.

>>> import zkrecipes
>>> with zkrecipes.Client("embedded:/module-doc") as client:  # or "zk1:2181,zk2:2181"
...     with client.lock("/locks/report") as held:  # waits; released on any exit; raises Lost if it was lost
...         assert held.is_held and held.fencing_token > 0
...     lock = client.lock("/locks/report")
...     if lock.acquire(timeout=5):
...         try:
...             lock.verify()
...         finally:
...             lock.release()
"""

import atexit

from ._native import (
    BadVersion,
    Cancelled,
    Client,
    Closed,
    ConnectionLost,
    Denied,
    Error,
    Exists,
    Forked,
    Held,
    Hold,
    InternalError,
    Invalid,
    InvalidType,
    Lock,
    Lost,
    Mismatch,
    MultiLock,
    Nodes,
    NoNode,
    NotEmpty,
    NotHeld,
    ReadWriteLock,
    Semaphore,
    Timeout,
    TooLarge,
    Transaction,
    WouldDeadlock,
    at_exit,
    version,
)
from ._values import ClientOptions, Contender, RetryOptions, SaslOptions, Stat, State, TlsOptions

__all__ = [
    "BadVersion",
    "Cancelled",
    "Client",
    "ClientOptions",
    "Closed",
    "ConnectionLost",
    "Contender",
    "Denied",
    "Error",
    "Exists",
    "Forked",
    "Held",
    "Hold",
    "InternalError",
    "Invalid",
    "InvalidType",
    "Lock",
    "Lost",
    "Mismatch",
    "MultiLock",
    "NoNode",
    "Nodes",
    "NotEmpty",
    "NotHeld",
    "ReadWriteLock",
    "RetryOptions",
    "SaslOptions",
    "Semaphore",
    "Stat",
    "State",
    "Timeout",
    "TlsOptions",
    "TooLarge",
    "Transaction",
    "WouldDeadlock",
    "version",
]

__version__ = version()

# What an exiting program still holds is free at once instead of after the session timeout.
atexit.register(at_exit, 1.0)
del at_exit, atexit
