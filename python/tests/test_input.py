"""Whatever is passed in: the error of the table that names the argument, at once, and nothing in ZooKeeper."""

from __future__ import annotations

import asyncio
import math
import threading
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
    "/a/\U0001f600",
    "/\U00010000b",
    "/\uffff",
    "/" + "a" * 2_000_000,
    b"/bytes",
    None,
    7,
]
BAD_TIMEOUTS: list[Any] = [-2, -0.5, math.nan, -math.inf, "5", b"5", [], 10**400, True, False]


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


@pytest.mark.parametrize("timeout", [None, -1, -1.0, math.inf, 1e308], ids=short)
def test_a_wait_without_a_limit_is_said_in_the_same_way_everywhere(client: zkrecipes.Client, timeout: Any) -> None:
    lock, queue, barrier, rounds = (
        client.lock("/lock"),
        client.queue("/queue"),
        client.barrier("/barrier"),
        client.double_barrier("/rounds", 1),
    )
    queue.put_many(["one", "two"], timeout=timeout)

    def acquire_and_release(timeout: Any) -> None:
        if lock.acquire(timeout=timeout):
            lock.release()

    commits = client.two_phase_commit("/commits")
    commits.join("site")
    begun = commits.begin("one", ["site"], "", timeout=5)
    proposal = commits.next(timeout)
    proposal.vote_commit()
    waits: list[Callable[[Any], object]] = [
        acquire_and_release,
        queue.get,
        lambda timeout: queue.claim(timeout).ack(),
        barrier.wait,
        rounds.enter,
        rounds.leave,
        lambda timeout: client.election("/election").campaign(timeout).release(),
        begun.outcome,
        client.close,
    ]
    for wait in waits:
        wait(timeout)


def test_what_has_to_end_is_not_called_negative_when_it_is_long(client: zkrecipes.Client) -> None:
    delayed = client.delay_queue("/delayed")
    for endless in (1e308, math.inf):
        with pytest.raises(zkrecipes.Invalid, match=r"delay: .* too long"):
            delayed.put("later", endless)
        with pytest.raises(zkrecipes.Invalid, match=r"session_timeout: .* too long"):
            zkrecipes.Client("127.0.0.1:1", session_timeout=endless)
    with pytest.raises(zkrecipes.Invalid, match=r"delay: .* not a duration"):
        delayed.put("later", -1)


@pytest.mark.parametrize("flag", [True, False])
def test_a_flag_is_nobodys_number(client: zkrecipes.Client, flag: Any) -> None:
    nodes, counter, queue = client.nodes, client.counter("/counter"), client.priority_queue("/queue")
    verbs: dict[str, Callable[[], object]] = {
        "version": lambda: nodes.set("/", b"", flag),
        "n": lambda: counter.add(flag),
        "permits": lambda: client.semaphore("/semaphore", flag),
        "parties": lambda: client.double_barrier("/rounds", flag),
        "priority": lambda: queue.put("first", flag),
        "max_items": lambda: client.queue("/queue", max_items=flag),
        "local_handoff": lambda: client.lock("/lock", local_handoff=flag),
        "force_after": lambda: client.lock("/lock").revoke(force_after=flag),
        "session_timeout": lambda: zkrecipes.Client("127.0.0.1:1", session_timeout=flag),
        "retry.base": lambda: zkrecipes.Client("127.0.0.1:1", retry={"base": flag}),
    }
    for argument, verb in verbs.items():
        with pytest.raises(zkrecipes.Invalid, match=f"{argument}: must be .*, not bool") as caught:
            verb()
        assert isinstance(caught.value, TypeError)


class Number:
    """One of another library."""

    def __init__(self, number: int | BaseException) -> None:
        self.number = number

    def __index__(self) -> int:
        if isinstance(self.number, int):
            return self.number
        raise self.number

    def __float__(self) -> float:
        return float(self.__index__())


def test_a_number_of_another_library_counts(client: zkrecipes.Client) -> None:
    two: Any = Number(2)
    assert len(client.partitioner("/partitions", two).owners()) == 2
    assert client.semaphore("/permits", two).permits == 2
    client.barrier("/barrier").wait(two)
    nothing: Any = Number(TypeError())
    with pytest.raises(zkrecipes.InvalidType, match="partitions"):
        client.partitioner("/partitions", nothing)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, ZeroDivisionError])
def test_what_a_value_raises_that_is_asked_for_its_number_is_raised(
    client: zkrecipes.Client, raised: type[BaseException]
) -> None:
    class Items:
        def __iter__(self) -> None:
            raise raised

    number: Any = Number(raised())
    items: Any = Items()
    verbs: list[Callable[[], object]] = [
        lambda: client.lock("/lock").acquire(timeout=number),
        lambda: client.semaphore("/permits", number),
        lambda: client.partitioner("/partitions", number),
        lambda: client.partitioner("/partitions", items),
        lambda: client.queue("/queue").put_many(items),
        lambda: client.queue("/queue").ack_many(items),
        lambda: client.multi_lock(items),
    ]
    for verb in verbs:
        with pytest.raises(raised):
            verb()


def test_the_root_is_neither_created_nor_deleted(client: zkrecipes.Client) -> None:
    nodes = client.nodes
    verbs: list[Callable[[], object]] = [
        lambda: nodes.create("/"),
        lambda: nodes.create("/", mode="persistent_sequential"),
        lambda: nodes.delete("/"),
        lambda: nodes.delete_all("/"),
        lambda: nodes.transaction().create("/"),
        lambda: nodes.transaction().delete("/"),
    ]
    for verb in verbs:
        with pytest.raises(zkrecipes.Invalid, match="root"):
            verb()
    nodes.ensure("/")


def test_a_name_that_is_no_name_of_a_node_is_refused_with_its_reason(client: zkrecipes.Client) -> None:
    commits = client.two_phase_commit("/commits")
    commits.join("site")
    verbs: dict[str, Callable[[str], object]] = {
        "name": lambda name: client.group("/group").join(name, b""),
        "name ": lambda name: client.names("/names").bind(name, b""),
        "name  ": lambda name: client.names("/names").lookup(name),
        "site": client.two_phase_commit("/commits").join,
        "id": lambda name: commits.begin(name, ["site"], b"", timeout=5),
        "id ": commits.show,
        "sites": lambda name: commits.begin("one", [name], b"", timeout=5),
    }
    for argument, verb in verbs.items():
        for name, reason in (
            ("a\U0001f600", "U\\+1F600"),
            ("a/b", "'/'"),
            ("", "empty"),
            ("..", "relative"),
            ("\n", "U\\+000A"),
        ):
            with pytest.raises(zkrecipes.Invalid, match=f"{argument.strip()}.*{reason}"):
                verb(name)


def test_what_a_server_keeps_to_itself_is_invalid_and_no_bug(client: zkrecipes.Client) -> None:
    for path in ("/zookeeper", "/zookeeper/config", "/zookeeper/quota"):
        with pytest.raises((zkrecipes.Invalid, zkrecipes.Denied, zkrecipes.NotEmpty)):
            client.nodes.delete(path)
        with pytest.raises((zkrecipes.Invalid, zkrecipes.Denied, zkrecipes.NotEmpty)):
            with_others = client.nodes.transaction()
            with_others.delete(path)
            with_others.commit()


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
        ("server_tick", 0),
        ("server_tick", 5.001),
        ("server_tick", "2"),
        ("max_in_flight", 0),
        ("max_in_flight", 1.5),
        ("connect_timeout", math.nan),
        ("connect_timeout", -3),
        ("identity", b"me"),
        ("identity", ""),
        ("identity", "\ud800"),
        ("auth", "digest"),
        ("auth", ("digest",)),
        ("auth", [("digest", "a:b"), 3]),
        ("auth", ("", "a:b")),
        ("auth", ("digest", "hunter2")),
        ("auth", ("digest", ":hunter2")),
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


@pytest.mark.parametrize("factory", ["counter", "election", "group"])
def test_an_option_that_a_recipe_does_not_know_is_refused_by_name(client: zkrecipes.Client, factory: str) -> None:
    with pytest.raises(zkrecipes.InvalidType, match=r"colour.*layout"):
        getattr(client, factory)("/recipe", colour="blue")


def test_asyncio_refuses_the_same(hosts: str) -> None:
    async def refused() -> None:
        async with zkrecipes.aio.Client(hosts) as client:
            for bad in ({"cancel_on_lost": 1}, {"reentrant": 1}, {"cancel_on_los": True}):
                with pytest.raises(zkrecipes.Invalid, match=next(iter(bad))):
                    client.lock("/lock", **bad)
            with pytest.raises(zkrecipes.InvalidType, match="reentrant, local_handoff, cancel_on_lost"):
                client.lock("/lock", cancel_on_loss=True)  # type: ignore[arg-type]
            with pytest.raises(zkrecipes.InvalidType, match=r"max_items.*, cancel_on_lost"):
                client.queue("/queue", cancel_on_loss=True)  # type: ignore[arg-type]
            with pytest.raises(zkrecipes.InvalidType, match="colour"):
                client.election("/leader", colour="blue")  # type: ignore[arg-type]
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
    queue, barrier, rounds = client.queue("/queue"), client.barrier("/barrier"), client.double_barrier("/rounds", 2)
    queue.put("one")
    item = queue.claim()
    client.close()
    client.close()
    verbs: list[Callable[[], object]] = [
        lambda: client.on_state(print),
        lambda: held.on_revoke(print),
        lambda: item.on_revoke(print),
        lambda: lock.on_lost(print),
        lambda: lock.on_revoke(print),
        *(lambda waiting=waiting: waiting.on_wait(print) for waiting in (lock, queue, barrier, rounds)),
        lambda: client.lock("/other"),
        waiter.acquire,
        lambda: waiter.acquire(blocking=False),
        waiter.contenders,
        lambda: client.nodes.exists("/lock"),
        transaction.commit,
        held.verify,
        held.__enter__,
        item.__enter__,
        held.downgrade,
    ]
    for verb in verbs:
        with pytest.raises((zkrecipes.Closed, zkrecipes.NotHeld)):
            verb()
    assert client.state == "closed"
    assert (client.session_id, client.lease_remaining) == (0, 0)
    assert not held.is_held
    assert not lock.is_held


def test_the_body_of_a_scope_does_not_run_for_what_is_held_no_more(client: zkrecipes.Client) -> None:
    lock = client.lock("/lock")
    released = lock.acquire()
    assert released
    released.release()
    with pytest.raises(zkrecipes.NotHeld), released:
        pytest.fail("its body ran")
    lost = lock.acquire()
    assert lost
    gone = threading.Event()
    lost.on_lost(lambda error: gone.set())
    client.nodes.delete(lost.node)
    assert gone.wait(10)
    with pytest.raises(zkrecipes.Lost), lost:
        pytest.fail("its body ran")


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


def test_other_servers_may_be_named_while_a_client_runs(client: zkrecipes.Client, hosts: str) -> None:
    client.update_hosts(f"127.0.0.1:1,{hosts}")
    for bad in ["zk1:x", ",", f"{hosts}/elsewhere", 7]:
        with pytest.raises(zkrecipes.Invalid, match="hosts"):
            client.update_hosts(bad)  # type: ignore[arg-type]
    assert f"of 127.0.0.1:1,{hosts} connected" in repr(client)
    assert client.nodes.exists("/")
    client.close()
    with pytest.raises(zkrecipes.Closed):
        client.update_hosts(hosts)
