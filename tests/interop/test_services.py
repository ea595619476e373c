"""Our Discovery with Curator's ServiceDiscovery: what one registers, the other finds, with all that it says."""

from __future__ import annotations

from typing import Any

import pytest
from stage import Stage, until

DYNAMIC = "service:dynamic"
both_ways = pytest.mark.parametrize(("first", "second"), [("our-curator", "curator"), ("curator", "our-curator")])
NAME = "web"


def sees(owner: Any, path: str, *instances: str) -> None:
    found: list[str] = []

    def has_come() -> bool:
        found[:] = owner.instances(DYNAMIC, path, NAME)
        return found == sorted(instances)

    until(has_come, f"{owner.name} sees {instances}, and not {found}")


@both_ways
@pytest.mark.parametrize("payload", ["-", "text", "object:b"])
def test_what_one_registers_the_other_finds(stage: Stage, first: str, second: str, payload: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    one.register(DYNAMIC, stage.path, NAME, "one", "10.0.0.7", "80", payload)
    other.register(DYNAMIC, stage.path, NAME, "two", "10.0.0.8", "81", payload)
    both = [
        f"one|10.0.0.7|80|{payload}|dynamic|http://10.0.0.7:80/web|on",
        f"two|10.0.0.8|81|{payload}|dynamic|http://10.0.0.8:81/web|on",
    ]
    sees(one, stage.path, *both)
    sees(other, stage.path, *both)
    assert one.services(DYNAMIC, stage.path) == other.services(DYNAMIC, stage.path) == [NAME]
    assert one.pick(DYNAMIC, stage.path, NAME) in ("one", "two")
    assert other.pick(DYNAMIC, stage.path, NAME) in ("one", "two")
    one.unregister(DYNAMIC, stage.path, NAME, "one")
    sees(other, stage.path, both[1])
    other.unregister(DYNAMIC, stage.path, NAME, "two")
    sees(one, stage.path)


@both_ways
@pytest.mark.parametrize("type_", ["static", "permanent", "dynamic_sequential"])
def test_every_type_is_known_on_both_sides(stage: Stage, first: str, second: str, type_: str) -> None:
    one, other = stage.owner(first), stage.owner(second)
    one.register(f"service:{type_}", stage.path, NAME, "one", "10.0.0.7", "80", "text")
    instance = f"one|10.0.0.7|80|text|{type_}|http://10.0.0.7:80/web|on"
    sees(one, stage.path, instance)
    sees(other, stage.path, instance)
    is_sequential = type_ == "dynamic_sequential"
    assert stage.children(f"/{NAME}") == ["one0000000000" if is_sequential else "one"]
    # Curator looks for a sequential one by its id, and leaves it to the end of its session.
    if not (is_sequential and first == "curator"):
        one.unregister(f"service:{type_}", stage.path, NAME, "one")
        sees(other, stage.path)


@both_ways
def test_one_that_goes_away_is_no_instance(stage: Stage, first: str, second: str) -> None:
    goes, stays = stage.owner(first), stage.owner(second)
    goes.register(DYNAMIC, stage.path, NAME, "one", "10.0.0.7", "80", "-")
    sees(stays, stage.path, "one|10.0.0.7|80|-|dynamic|http://10.0.0.7:80/web|on")
    goes.close()
    sees(stays, stage.path)


def test_whoever_of_ours_picks_follows_theirs(stage: Stage) -> None:
    we, they = stage.owner("our-curator"), stage.owner("curator")
    assert we.pick(DYNAMIC, stage.path, NAME) == "none"
    they.register(DYNAMIC, stage.path, NAME, "one", "10.0.0.7", "80", "object:b")
    until(lambda: we.pick(DYNAMIC, stage.path, NAME) == "one", "theirs is picked")
    they.unregister(DYNAMIC, stage.path, NAME, "one")
    until(lambda: we.pick(DYNAMIC, stage.path, NAME) == "none", "theirs is picked no more")
