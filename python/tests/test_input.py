"""Whatever is passed in: the error of the table that names the argument, at once, and nothing in ZooKeeper."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest
import zkrecipes
import zkrecipes.aio
from zkrecipes.testing import EmbeddedServer

BAD_PATHS: list[Any] = [
    "relative",
    "",
    "/",
    "//",
    "/a//b",
    "/a/",
    "/a/./b",
    "/a/../b",
    "/a\0b",
    "/a\ud800b",
    "/" + "a" * 2_000_000,
    b"/bytes",
    None,
    7,
]
BAD_TIMEOUTS: list[Any] = [-2, -0.5, math.nan, -math.inf, "5", b"5", [], 10**400]


def short(value: object) -> str:
    return repr(value)[:20]


@pytest.mark.parametrize("path", BAD_PATHS, ids=short)
def test_a_bad_path_is_refused_by_name(client: zkrecipes.Client, path: Any) -> None:
    with pytest.raises(zkrecipes.Error) as caught:
        client.lock(path)
    assert caught.value.code in ("INVALID", "TOO_LARGE")
    assert "path" in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert isinstance(caught.value, TypeError) == (not isinstance(path, str))
    assert client.nodes.children("/") in ([], ["zookeeper"])


@pytest.mark.parametrize("path", [path for path in BAD_PATHS if path != "/"], ids=short)
def test_node_operations_refuse_a_bad_path(client: zkrecipes.Client, path: Any) -> None:
    nodes = client.nodes
    verbs: list[Callable[[Any], object]] = [
        nodes.create,
        nodes.get,
        nodes.delete,
        nodes.exists,
        nodes.children,
        nodes.ensure,
        nodes.delete_all,
        lambda path: nodes.set(path, b""),
        lambda path: nodes.transaction().create(path),
        lambda path: nodes.transaction().set(path, b""),
        lambda path: nodes.transaction().delete(path),
        lambda path: nodes.transaction().check(path),
    ]
    for verb in verbs:
        with pytest.raises((zkrecipes.Invalid, zkrecipes.TooLarge)):
            verb(path)
    assert client.nodes.children("/") in ([], ["zookeeper"])


@pytest.mark.parametrize("timeout", BAD_TIMEOUTS, ids=short)
def test_a_bad_timeout_is_refused_by_name(client: zkrecipes.Client, timeout: Any) -> None:
    lock = client.lock("/lock")
    for verb in (lambda: lock.acquire(timeout=timeout), lambda: lock.hold(timeout), lambda: client.close(timeout)):
        with pytest.raises(zkrecipes.Invalid, match="timeout"):
            verb()
    assert not lock.is_held
    assert client.nodes.exists("/lock") is None


def test_minus_one_waits_for_ever_with_locks_only(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    assert lock.acquire(timeout=-1)
    lock.release()
    assert lock.acquire(timeout=math.inf)
    lock.release()
    with pytest.raises(zkrecipes.Invalid, match="timeout"):
        client.close(-1)


def test_a_call_that_does_not_block_takes_no_timeout(client: zkrecipes.Client) -> None:
    with pytest.raises(ValueError, match="timeout"):
        client.lock("/lock").acquire(blocking=False, timeout=1)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("session_timeout", "10"),
        ("session_timeout", 0),
        ("session_timeout", -1),
        ("session_timeout", math.nan),
        ("session_timeout", math.inf),
        ("session_timeout", 10**400),
        ("connect_timeout", math.nan),
        ("connect_timeout", -3),
        ("identity", b"me"),
        ("identity", ""),
        ("identity", "\ud800"),
        ("auth", "digest"),
        ("auth", ("digest",)),
        ("auth", [("digest", "a:b"), 3]),
        ("auth", ("", "a:b")),
        ("acl", "closed"),
        ("acl", []),
        ("acl", [("world", "anyone")]),
        ("acl", [("world", "anyone", "xyz")]),
        ("acl", 5),
        ("tls", "yes"),
        ("tls", {"authority": "x"}),
        ("sasl", {"user": "me"}),
        ("sasl", ("me", "secret")),
        ("naming", "zk"),
        ("naming", 1),
        ("retry", 3),
        ("retry", {"base": -1}),
        ("retry", {"bases": 1}),
        ("retry", {"base": 5, "max": 1}),
        ("lease", "lax"),
        ("read_only", 1),
        ("sesion_timeout", 10),
        ("timeout", 10),
    ],
    ids=short,
)
def test_a_bad_option_is_refused_by_name(option: str, value: Any) -> None:
    options: dict[str, Any] = {option: value}
    with pytest.raises(zkrecipes.Invalid, match=option):
        zkrecipes.Client("127.0.0.1:1", **options)
    with pytest.raises(zkrecipes.Invalid, match=option):
        zkrecipes.aio.Client("127.0.0.1:1", **options)


def test_an_unknown_option_is_a_type_error_too_and_lists_the_known() -> None:
    with pytest.raises(TypeError, match="session_timeout"):
        zkrecipes.Client("127.0.0.1:1", sesion_timeout=10)  # type: ignore[call-arg]


def test_a_secret_does_not_reach_an_error() -> None:
    with pytest.raises(zkrecipes.Invalid) as caught:
        zkrecipes.Client("127.0.0.1:1", auth=[("digest", "user:hunter2"), 5])  # type: ignore[list-item]
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("bad", [{"reentrant": 1}, {"local_handoff": -1}, {"local_handoff": "x"}, {"reentrnat": True}])
def test_a_bad_lock_option_is_refused_by_name(client: zkrecipes.Client, bad: dict[str, Any]) -> None:
    with pytest.raises(zkrecipes.Invalid, match=next(iter(bad))):
        client.lock("/lock", **bad)


@pytest.mark.parametrize("factory", ["queue", "priority_queue", "delay_queue"])
@pytest.mark.parametrize(
    "bad", [{"max_items": 0}, {"ephemeral": 1}, {"shards": "2"}, {"layout": "round"}, {"max_item": 5}]
)
def test_a_bad_option_of_a_queue_is_refused_by_name(
    client: zkrecipes.Client, factory: str, bad: dict[str, Any]
) -> None:
    with pytest.raises(zkrecipes.Invalid, match=next(iter(bad))):
        getattr(client, factory)("/queue", **bad)
    assert getattr(client, factory)("/queue", max_items=None, layout=None).path == "/queue"


def test_asyncio_refuses_the_same(hosts: str) -> None:
    async def refused() -> None:
        async with zkrecipes.aio.Client(hosts) as client:
            for bad in ({"cancel_on_lost": 1}, {"reentrant": 1}, {"cancel_on_los": True}):
                with pytest.raises(zkrecipes.Invalid, match=next(iter(bad))):
                    client.lock("/lock", **bad)
            for path in BAD_PATHS:
                with pytest.raises((zkrecipes.Invalid, zkrecipes.TooLarge)):
                    client.lock(path)
            for timeout in BAD_TIMEOUTS:
                with pytest.raises(zkrecipes.Invalid, match="timeout"):
                    await client.lock("/lock").acquire(timeout=timeout)
            with pytest.raises(zkrecipes.Invalid, match="callback"):
                client.on_state(5)  # type: ignore[arg-type]

    asyncio.run(refused())


def test_data_is_bytes_or_text(client: zkrecipes.Client) -> None:
    nodes = client.nodes
    for data, stored in [
        (b"\0\xff", b"\0\xff"),
        ("grüß", "grüß".encode()),
        (bytearray(b"ab"), b"ab"),
        (memoryview(b"abcd")[::2], b"ac"),
    ]:
        path = nodes.create("/data-", data, "persistent_sequential")  # type: ignore[arg-type]
        assert nodes.get(path)[0] == stored
    for bad in (5, None, ["a"], "\ud800"):
        with pytest.raises(zkrecipes.Invalid, match="data"):
            nodes.set("/data", bad)  # type: ignore[arg-type]
    with pytest.raises(zkrecipes.Invalid, match="mode"):
        nodes.create("/mode", b"", "sequential")  # type: ignore[arg-type]
    with pytest.raises(zkrecipes.Invalid, match="version"):
        nodes.set("/data", b"", 2**31)
    with pytest.raises(zkrecipes.Invalid, match="version"):
        nodes.set("/data", b"", "1")  # type: ignore[arg-type]


@pytest.mark.parametrize("hosts", [b"h:1", 5, "h:1\ud800", ["h:1"]], ids=short)
def test_bad_hosts_are_refused_by_name(hosts: Any) -> None:
    with pytest.raises(zkrecipes.Invalid, match="hosts"):
        zkrecipes.Client(hosts)


@pytest.mark.parametrize("hosts", ["h:port", "h:0", "h:99999", "h:1//a", ",", "h:1/a/../b", "/only/a/path"])
def test_a_malformed_connect_string_is_refused(hosts: str) -> None:
    with pytest.raises(zkrecipes.Invalid):
        zkrecipes.Client(hosts)


def test_without_hosts_both_ways_out_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZKRECIPES_HOSTS", raising=False)
    for hosts in (None, ""):
        with pytest.raises(zkrecipes.Invalid, match="ZKRECIPES_HOSTS"):
            zkrecipes.Client(hosts)


def test_nobody_there_is_connection_lost_in_time() -> None:
    with pytest.raises(ConnectionError) as caught:
        zkrecipes.Client("127.0.0.1:1", connect_timeout=0.3)
    assert isinstance(caught.value, zkrecipes.ConnectionLost)


def test_a_closed_client_says_so(client: zkrecipes.Client) -> None:
    lock, waiter = client.lock("/lock"), client.lock("/lock")
    held = lock.acquire()
    assert held
    transaction = held.guarded()
    transaction.set("/lock", b"x")
    client.close()
    client.close()
    verbs: list[Callable[[], object]] = [
        lambda: client.lock("/other"),
        waiter.acquire,
        lambda: waiter.acquire(blocking=False),
        waiter.contenders,
        lambda: client.nodes.exists("/lock"),
        transaction.commit,
        held.verify,
    ]
    for verb in verbs:
        with pytest.raises((zkrecipes.Closed, zkrecipes.NotHeld)):
            verb()
    assert client.state == "closed"
    assert (client.session_id, client.lease_remaining) == (0, 0)
    assert not held.is_held
    assert not lock.is_held


def test_classes_are_made_by_their_factories_only() -> None:
    names = ["Lock", "ReadWriteLock", "MultiLock", "Semaphore", "Held", "Nodes", "Transaction"]
    classes: list[Any] = [getattr(face, name) for face in (zkrecipes, zkrecipes.aio) for name in names]
    for cls in classes:
        with pytest.raises(TypeError):
            cls()
        with pytest.raises(TypeError):
            cls(5)


def test_a_bad_fault_is_refused(server: EmbeddedServer) -> None:
    with pytest.raises(zkrecipes.Invalid, match="fault"):
        server.inject("explode")
    with pytest.raises(zkrecipes.Invalid, match="prot"):
        EmbeddedServer(prot=5)  # type: ignore[call-arg]
    with pytest.raises(zkrecipes.Invalid, match="port"):
        EmbeddedServer(70000)
    with pytest.raises(OSError, match="in use"):
        EmbeddedServer(server.port)


@pytest.mark.parametrize("bad", [1, "yes", b""], ids=short)
def test_a_flag_is_true_or_false(client: zkrecipes.Client, bad: Any) -> None:
    lock = client.lock("/lock")
    with pytest.raises(zkrecipes.Invalid, match="blocking"):
        lock.acquire(blocking=bad)
    with lock as held:
        verbs: list[Callable[[], None]] = [lambda: lock.release(wait=bad), lambda: held.release(bad)]
        for verb in verbs:
            with pytest.raises(zkrecipes.Invalid, match="wait"):
                verb()
        assert held.is_held
