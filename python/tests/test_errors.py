from __future__ import annotations

import builtins
import pickle
import re
from pathlib import Path

import pytest
import tomllib
import zkrecipes
import zkrecipes.aio
from conftest import Connect

KINDS = tomllib.loads((Path(__file__).resolve().parents[2] / "api/errors.toml").read_text())
CODES = {kind.get("python", name): re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper() for name, kind in KINDS.items()}
ALSO = {kind.get("python", name): getattr(builtins, kind["also"]) for name, kind in KINDS.items() if "also" in kind}


@pytest.mark.parametrize("name", CODES)
def test_every_kind_has_a_class_with_its_code(name: str) -> None:
    error = getattr(zkrecipes, name)
    assert issubclass(error, zkrecipes.Error)
    assert error.code == CODES[name]
    assert isinstance(error.retryable, bool)
    assert error("text").path is None
    assert error.__doc__
    assert error.__module__ == "zkrecipes"
    assert name in zkrecipes.__all__
    assert getattr(zkrecipes.aio, name) is error


def test_there_are_no_other_kinds() -> None:
    kinds = {cls.__name__ for cls in zkrecipes.Error.__subclasses__() if cls.__module__ == "zkrecipes"}
    assert kinds == set(CODES)


@pytest.mark.parametrize("name", CODES)
def test_builtins_catch_what_they_are_expected_to(name: str) -> None:
    also = [base for base in getattr(zkrecipes, name).__mro__ if hasattr(builtins, base.__name__)]
    assert (ALSO[name] in also) if name in ALSO else also == [Exception, BaseException, object]


def test_an_error_survives_a_trip_to_another_process() -> None:
    with pytest.raises(zkrecipes.Invalid) as caught, zkrecipes.Client("embedded:/errors") as client:
        client.nodes.get("relative")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value)
    assert str(copy) == str(caught.value)
    assert copy.path == caught.value.path


def test_an_error_says_the_path(client: zkrecipes.Client) -> None:
    with pytest.raises(zkrecipes.NoNode, match="/missing") as caught:
        client.nodes.get("/missing")
    assert caught.value.path == "/missing"


def test_using_what_was_never_acquired_says_the_path(client: zkrecipes.Client) -> None:
    for handle in (client.lock("/y"), client.semaphore("/y", 2), client.multi_lock([client.lock("/y")])):
        for use in (handle.release, handle.verify, handle.guarded, lambda handle=handle: handle.fencing_token):
            with pytest.raises(zkrecipes.NotHeld, match="nothing was acquired") as caught:
                use()
            assert caught.value.path == "/y"


def test_node_operations_have_their_errors(client: zkrecipes.Client) -> None:
    nodes = client.nodes
    nodes.create("/a", b"1")
    nodes.create("/a/b")
    with pytest.raises(zkrecipes.Exists):
        nodes.create("/a")
    with pytest.raises(zkrecipes.BadVersion):
        nodes.set("/a", b"2", version=7)
    with pytest.raises(zkrecipes.NotEmpty):
        nodes.delete("/a")
    with pytest.raises(zkrecipes.NoNode):
        nodes.delete("/c")
    with pytest.raises(zkrecipes.TooLarge):
        nodes.set("/a", b"x" * 2_000_000)


def test_what_belongs_to_others_is_denied(connect: Connect) -> None:
    owner, other = connect(auth=("digest", "owner:secret")), connect()
    owner.nodes.create("/mine", b"private")
    with pytest.raises(PermissionError) as caught:
        other.nodes.get("/mine")
    assert isinstance(caught.value, zkrecipes.Denied)
    assert caught.value.path == "/mine"
