"""The words of service discovery, for both drivers."""

from __future__ import annotations

import json
from typing import Any

import zkrecipes
from recipes import now, recipes, shown

from protocol import Command, whole

Key = tuple[str, str]
# By client, name and id.
registrations: dict[tuple[str, str, str], Any] = {}
picked: dict[Key, zkrecipes.Instance] = {}

VERBS = {"register", "registered", "update-service", "unregister", "instances", "instance", "pick", "picked-failed"}
VERBS |= {"watch-service"}


def are_meant(command: Command) -> bool:
    """Whether this is for `perform`."""
    return command.verb in VERBS


class Followed:
    """A service to be followed."""

    def __init__(self, discovery: Any, service: str) -> None:
        self.discovery, self.service = discovery, service

    def watch(self) -> Any:
        return self.discovery.watch(self.service)


def given(words: list[str]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        match name:
            case "port" | "ssl-port":
                told[name.replace("-", "_")] = whole(value)
            case "payload":
                told["payload"] = json.loads(value)
            case "uri":
                told["uri_spec"] = value
            case "enabled" | "disabled":
                told["enabled"] = name == "enabled"
            case _:
                told[name] = value
    return told


def or_none(*found: object) -> list[str]:
    return ["-" if it is None else str(it) for it in found]


def json_of(payload: Any) -> str | None:
    return None if payload is None else json.dumps(payload, separators=(",", ":"))


def details(one: zkrecipes.Instance) -> list[str]:
    return or_none(one.address, one.port, one.ssl_port, one.type, one.uri, json_of(one.payload))


def registered(one: zkrecipes.Service) -> list[str]:
    found = or_none(one.address, one.port, one.ssl_port, one.type, one.uri_spec, json_of(one.payload))
    return [f"{one.name}/{one.id}", *found, "enabled" if one.enabled else "disabled"]


async def perform(command: Command) -> list[str]:
    _, who, verb, (name, *args) = command
    key = who, name
    if verb == "watch-service":
        recipes[key] = Followed(recipes[who, args[0]], args[1])
        return []
    discovery = recipes[key]
    match verb, args:
        case "register", [service, id_, address, *rest]:
            made = zkrecipes.Service(service, address, id=id_, **given(rest))
            registrations[who, name, id_] = await now(discovery.register(made))
        case "update-service", [id_, *rest]:
            await now(registrations[who, name, id_].update(**given(rest)))
        case "registered", [id_]:
            return registered(registrations[who, name, id_].service)
        case "unregister", [id_]:
            await now(registrations[who, name, id_].unregister())
        case "instances", [service]:
            return [shown(one) for one in await now(discovery.instances(service))]
        case "instance", [service, id_]:
            found = [one for one in await now(discovery.instances(service)) if one.id == id_]
            return details(found[0]) if found else ["none"]
        case "pick", [service, *by]:
            one = await now(discovery.pick(service, *by))
            if one is None:
                return ["none"]
            picked[key] = one
            return [one.id]
        case "picked-failed", []:
            picked[key].failed()
    return []
