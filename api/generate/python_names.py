"""What the package of Python exports: what is generated, and what is written by hand."""

from __future__ import annotations

from errors import Kind

from python import Type

# Written by hand in the native module, and in zkrecipes/_values.py.
NATIVE = {"Client", "DeadLetters", "Election", "Error", "Feed", "Handle", "Held", "Hold", "InvalidType", "Item"}
NATIVE |= {"Leadership", "Lock", "MultiLock", "ReadWriteLock", "Semaphore", "version"}
VALUES = {"Cached", "Changed", "ClientOptions", "CommitStatus", "Contender", "DeadLetter", "GroupEvent", "Histogram"}
VALUES |= {"Instance", "Service"}
VALUES |= {"Joined", "Leader", "Left", "Metrics", "QueueStats", "RetryOptions", "SaslOptions", "SiteStatus", "Snapshot"}
VALUES |= {"Stat", "State", "TlsOptions", "Versioned", "WaitProgress"}
# What only one of the two faces has.
BLOCKING = {"ClientOptions", "Histogram", "Metrics", "RetryOptions", "SaslOptions", "TlsOptions"}
ASYNCIO = {"Campaign"}


def exported(names: set[str]) -> str:
    return f"__all__ = {sorted(names)!r}\n"


def imported(module: str, names: set[str]) -> str:
    return f"from .{module} import {', '.join(sorted(names, key=lambda name: (name[0].islower(), name.lower())))}\n"


def parts(listed: list[Type], errors: list[Kind]) -> dict[str, str]:
    recipes = {one.name for one in listed if not one.is_shared and not one.is_by_hand}
    raised = {kind.python for kind in errors}
    native = {*NATIVE, *recipes, *raised}
    whole = {one.name for one in listed if not one.is_shared and "asyncio" not in one.told.get("by_hand", [])}
    ours = ", ".join(sorted(recipes))
    return {
        "public names": imported("_native", native) + imported("_values", VALUES) + "\n" + exported({*native, *VALUES}),
        "errors of asyncio": imported("_native", {*raised, "Error", "InvalidType", "version"}),
        "recipes of asyncio": imported("_recipes", whole),
        "names of asyncio": exported(({*native, *VALUES} | ASYNCIO) - BLOCKING),
        "classes of asyncio": f"for _class in ({ours}, DeadLetters, Feed, Held, Item):\n"
        "    _class.__module__ = __name__\n",
    }
