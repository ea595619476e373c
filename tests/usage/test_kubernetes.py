"""The sidecar of examples/kubernetes: its very command line is run, twice, as two pods would."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import yaml
from world import ROOT, Program, World, eventually

FILE = ROOT / "examples/kubernetes/elected.yaml"


def deployment() -> dict[str, Any]:
    (found,) = yaml.safe_load_all(FILE.read_text())
    return dict(found)


def test_the_file_says_what_kubernetes_needs() -> None:
    whole = deployment()
    assert (whole["apiVersion"], whole["kind"]) == ("apps/v1", "Deployment")
    assert whole["spec"]["replicas"] == 2
    assert whole["spec"]["selector"]["matchLabels"] == whole["spec"]["template"]["metadata"]["labels"]
    pod = whole["spec"]["template"]["spec"]
    (sidecar,), (app,) = pod["initContainers"], pod["containers"]
    assert sidecar["restartPolicy"] == "Always"
    words = sidecar["command"]
    grace = int(words[words.index("--grace") + 1].removesuffix("s"))
    assert pod["terminationGracePeriodSeconds"] > grace + 30
    volumes = {one["name"] for one in pod["volumes"]}
    for container in (sidecar, app):
        assert all(isinstance(word, str) for word in container["command"])
        assert {one["name"] for one in container["volumeMounts"]} <= volumes
        assert re.fullmatch(r"[\w./-]+:[\w.-]+", container["image"])
    for variable in sidecar["env"]:
        assert set(variable) in ({"name", "value"}, {"name", "valueFrom"})
        assert isinstance(variable.get("value", ""), str)


def pod(world: World, name: str) -> tuple[Program, Path]:
    """The sidecar as the kubelet starts it, on this machine and against this server."""
    (sidecar,) = deployment()["spec"]["template"]["spec"]["initContainers"]
    folder = world.place / name
    folder.mkdir(exist_ok=True)
    variables = {one["name"]: one.get("value", "") for one in sidecar["env"]}
    variables |= {"POD_NAME": name, "LEADER_FILE": str(folder / "epoch")}
    variables["ZKRECIPES_HOSTS"] = world.server.connect_string
    command = [re.sub(r"\$\((\w+)\)", lambda found: variables[found[1]], word) for word in sidecar["command"]]
    return world.start(*command, **variables), folder / "epoch"


def leader(world: World) -> str | None:
    found = world.client.election("/leaders/index-writer").leader()
    return found.identity if found else None


def held_epoch(file: Path) -> int:
    """Zero while nobody leads there, or the file is about to be written."""
    try:
        return int(file.read_text() or 0)
    except FileNotFoundError:
        return 0


def test_a_pod_leads_and_the_other_takes_over(world: World) -> None:
    first, epoch = pod(world, "index-writer-1")
    before = eventually(lambda: held_epoch(epoch), "the first pod leads")
    second, next_epoch = pod(world, "index-writer-2")
    eventually(lambda: len(world.client.election("/leaders/index-writer").candidates()) == 2, "both stand")
    assert leader(world) == "index-writer-1"
    assert not next_epoch.exists()

    # The machine is gone. Of this the file is not: it would have been in the memory of that machine.
    first.kill()
    after = eventually(lambda: held_epoch(next_epoch), "the second pod leads")
    assert leader(world) == "index-writer-2"
    assert after > before

    # The container is started again, finds what an earlier one has left, and stands.
    epoch.write_text(str(before))
    again, _ = pod(world, "index-writer-1")
    eventually(lambda: len(world.client.election("/leaders/index-writer").candidates()) == 2, "both stand")
    assert not epoch.exists()

    # A rolling update: SIGTERM, and the leadership is free at once.
    assert second.ends(signal.SIGTERM) in (0, 128 + signal.SIGTERM)
    held = eventually(lambda: held_epoch(epoch), "the first pod leads at once", within=5)
    assert not next_epoch.exists()

    # The leadership is lost: the file goes, and comes back with the next epoch.
    session = world.client.election("/leaders/index-writer").candidates()[0].session_id
    world.server.expire(session)
    eventually(lambda: held_epoch(epoch) > held, "it leads again, in another epoch")
    assert again.ends(signal.SIGTERM) in (0, 128 + signal.SIGTERM)
    assert not epoch.exists()
