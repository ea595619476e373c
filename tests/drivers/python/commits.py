"""What all do or none: transactions of two-phase commit, for both drivers."""

from __future__ import annotations

from typing import Any

import zkrecipes
from recipes import now

from protocol import Command, seconds

# By client and name, and by the id as well.
handles: dict[tuple[str, str], Any] = {}
begun: dict[tuple[str, str, str], Any] = {}
asked: dict[tuple[str, str, str], Any] = {}


def are_meant(command: Command) -> bool:
    """Whether this is for `perform`."""
    return command.verb.startswith("2pc")


def waiting(command: Command) -> Any:
    """What may be withdrawn."""
    who, (name, *args) = command.client, command.args
    match command.verb, args:
        case "2pc-outcome", [id_, *_]:
            return begun.get((who, name, id_))
        case "2pc-learn", [id_, *_]:
            return asked.get((who, name, id_))
    return handles.get((who, name))


async def perform(client: Any, command: Command) -> list[str]:
    _, who, verb, (name, *args) = command
    if verb == "2pc":
        handles[who, name] = client.two_phase_commit(*args)
        return []
    commits = handles[who, name]
    match verb.removeprefix("2pc-"), args:
        case "begin", [id_, sites, payload, timeout]:
            begun[who, name, id_] = await now(commits.begin(id_, sites.split(","), payload, seconds([timeout])))
        case "outcome", [id_, *limit]:
            return [await now(begun[who, name, id_].outcome(seconds(limit)))]
        case "recover", []:
            recovered = await now(commits.recover())
            begun.update({(who, name, one.id): one for one in recovered})
            return [one.id for one in recovered]
        case "join", [site]:
            await now(commits.join(site))
        case "leave", []:
            await now(commits.leave())
        case "next", limit:
            proposal = await now(commits.next(seconds(limit)))
            asked[who, name, proposal.id] = proposal
            return [proposal.id, proposal.payload.decode() or "-"]
        case "pending", []:
            pending = await now(commits.pending())
            asked.update({(who, name, one.id): one for one in pending})
            return [one.id + ("=voted" if one.has_voted else "") for one in pending]
        case "vote", [id_, "commit"]:
            await now(asked[who, name, id_].vote_commit())
        case "vote", [id_, "abort", *reason]:
            await now(asked[who, name, id_].vote_abort(*reason))
        case "learn", [id_, *limit]:
            return [await now(asked[who, name, id_].outcome(seconds(limit)))]
        case "ack", [id_]:
            await now(asked[who, name, id_].acknowledge())
        case "history", []:
            return [f"{one.id}={one.outcome or 'open'}" for one in await now(commits.history())]
        case "show", [id_]:
            return shown(await now(commits.show(id_)))
        case "decide", [id_]:
            return [await now(commits.decide_abort(id_, "by hand"))]
        case _:
            raise zkrecipes.Invalid(f"no such verb: {verb}")
    return []


def shown(status: zkrecipes.CommitStatus | None) -> list[str]:
    if status is None:
        return ["none"]
    said = [status.outcome or "open", status.coordinator]
    for site in status.sites:
        marks = {"there": site.is_present, "voted": site.has_voted, "done": site.has_acknowledged}
        said.append(f"{site.site}={','.join(word for word, is_so in marks.items() if is_so)}")
    return said


def forget(key: tuple[str, str]) -> None:
    handles.pop(key, None)
    for all_ in (begun, asked):
        for known in [known for known in all_ if known[:2] == key]:
            del all_[known]
