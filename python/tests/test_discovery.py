"""What Python makes of services and their instances."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import pickle
from datetime import datetime, timezone
from typing import Any

import pytest
import zkrecipes
from conftest import eventually
from zkrecipes import Service, aio


def test_a_payload_is_whatever_json_has(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    payload = {"zone": "b", "weights": [1, 2.5, None, True], "name": "größe 😀", "@class": "x.Y"}
    before = datetime.now(timezone.utc)
    registration = discovery.register(Service("web", "10.0.0.7", payload=payload))
    (instance,) = discovery.instances("web")
    assert instance.payload == payload
    assert instance.id == registration.id
    assert len(instance.id) == 36
    assert (instance.port, instance.ssl_port, instance.uri, instance.uri_spec) == (None, None, None, None)
    assert abs((instance.registered_at - before).total_seconds()) < 60
    registration.update(payload=None)
    assert discovery.instances("web")[0].payload is None


def test_what_json_has_not_is_refused(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    for payload in (object(), {1, 2}, b"bytes"):
        with pytest.raises(zkrecipes.InvalidType, match="payload"):
            discovery.register(Service("web", "h", payload=payload))
    for payload in (float("nan"), "\ud800"):
        with pytest.raises(zkrecipes.Invalid, match="payload"):
            discovery.register(Service("web", "h", payload=payload))


def test_wrong_parts_of_a_service_are_named(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    wrong: list[tuple[str, Any]] = [
        ("name", 7), ("name", ""), ("name", "a/b"), ("id", None), ("id", "a/b"), ("address", None), ("address", ""),
        ("port", -1), ("port", 65_536), ("port", "80"), ("ssl_port", True), ("type", "odd"), ("type", None),
        ("uri_spec", "{port"), ("enabled", None),
    ]  # fmt: skip
    for name, value in wrong:
        with pytest.raises(zkrecipes.Invalid, match=name):
            discovery.register(dataclasses.replace(Service("web", "h"), **{name: value}))
    with pytest.raises(zkrecipes.InvalidType, match=r"zkrecipes\.Service"):
        discovery.register({"name": "web", "address": "h"})  # type: ignore[arg-type]
    with pytest.raises(zkrecipes.Invalid, match="round_robin, random, sticky"):
        discovery.pick("web", "best")  # type: ignore[arg-type]
    assert discovery.names() == []


def test_an_update_changes_what_is_named_or_the_whole(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    registration = discovery.register(Service("web", "h", port=80, id="one"))
    registration.update(ssl_port=443, payload=[1])
    registration.update(port=None, enabled=False)
    (instance,) = discovery.instances("web")
    assert (instance.port, instance.ssl_port, instance.payload, instance.enabled) == (None, 443, [1], False)
    registration.update(Service("web", "g", id="one"))
    (instance,) = discovery.instances("web")
    assert (instance.address, instance.ssl_port, instance.payload, instance.enabled) == ("g", None, None, True)
    with pytest.raises(zkrecipes.Invalid, match="id"):
        registration.update(Service("web", "g"))
    with pytest.raises(zkrecipes.InvalidType, match="address, port"):
        registration.update(name="mail")  # type: ignore[call-arg]
    registration.unregister()
    with pytest.raises(zkrecipes.NotHeld):
        registration.update(port=1)


def test_one_that_has_failed_is_not_picked(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    discovery.register(Service("web", "h", id="one"))
    instance = discovery.pick("web")
    assert instance is not None
    assert instance == discovery.instances("web")[0]
    instance.failed()
    assert discovery.pick("web") is None
    assert client.discovery("/services").pick("web") == instance
    # What has found it may be gone.
    del discovery
    instance.failed()


def test_one_that_is_updated_or_registered_anew_is_picked_again(client: zkrecipes.Client) -> None:
    discovery, service = client.discovery("/services"), Service("web", "h", id="one", port=80)
    registration = discovery.register(service)

    def fails(port: int | None) -> None:
        eventually(lambda: (picked := discovery.pick("web")) is not None and picked.port == port)
        instance = discovery.pick("web")
        assert instance is not None
        instance.failed()
        assert discovery.pick("web") is None

    fails(80)
    registration.update(port=81)
    fails(81)
    registration.unregister()
    discovery.register(dataclasses.replace(service, port=81))
    fails(81)


def test_a_registration_stays_when_its_object_goes(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    discovery.register(Service("web", "h"))
    assert len(discovery.instances("web")) == 1


def test_numbers_beyond_pythons_limits_keep_nobody_from_the_others(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    discovery.register(Service("web", "h", id="one"))
    digits = "9" * 5000
    client.nodes.create("/services/web/two", f'{{"name":"web","id":"two","payload":{digits}}}')
    one, two = discovery.instances("web")
    assert (one.id, two.id) == ("one", "two")
    assert two.payload == digits


def test_an_instance_is_copied_pickled_and_hashed_as_other_values_are(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    service = Service("web", "h", id="one", payload={"zone": ["b"]})
    discovery.register(service)
    (instance,) = discovery.instances("web")
    copies = [copy.copy(instance), copy.deepcopy(instance), pickle.loads(pickle.dumps(instance))]
    assert copies == [instance] * 3
    assert {instance: "it"}[copies[1]] == "it"
    assert hash(service) == hash(copy.deepcopy(service))
    told = dataclasses.asdict(instance)
    assert told["payload"] == {"zone": ["b"]}
    assert [name for name in told if name.startswith("_")] == []
    assert json.loads(json.dumps(told, default=str))["id"] == "one"
    assert dataclasses.replace(instance, port=81).port == 81
    copies[2].failed()
    assert discovery.pick("web") == instance
    copies[1].failed()
    assert discovery.pick("web") is None


def test_a_date_beyond_all_dates_is_the_last_one(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    client.nodes.ensure("/services/web")
    late = f'{{"name":"web","id":"one","registrationTimeUTC":{2**63 - 1}}}'
    client.nodes.create("/services/web/one", late)
    (instance,) = discovery.instances("web")
    assert instance.registered_at == datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc)


def test_asyncio_has_the_same(hosts: str) -> None:
    async def use() -> None:
        async with aio.Client(hosts) as client:
            discovery = client.discovery("/services")
            registration = await discovery.register(aio.Service("web", "h", id="one"))
            assert isinstance(registration, aio.Registration)
            instance = await discovery.pick("web", "sticky")
            assert isinstance(instance, aio.Instance)
            assert instance.id == "one"
            async for found in discovery.watch("web"):
                assert [one.id for one in found] == ["one"]
                break
            await registration.update(port=80)
            await registration.unregister()
            assert await discovery.instances("web") == []

    asyncio.run(use())


def test_a_withdrawn_registration_leaves_nothing_behind(hosts: str) -> None:
    async def use() -> None:
        async with aio.Client(hosts) as client:
            discovery = client.discovery("/services")
            registering = asyncio.ensure_future(discovery.register(Service("web", "h", id="one")))
            await asyncio.sleep(0)
            registering.cancel()
            with pytest.raises(asyncio.CancelledError):
                await registering
            while await discovery.instances("web"):
                await asyncio.sleep(0.01)
            await (await discovery.register(Service("web", "h", id="one"))).unregister()

    asyncio.run(use())


def test_what_was_registered_can_be_read_and_given_back_changed(client: zkrecipes.Client) -> None:
    discovery = client.discovery("/services")
    service = Service("web", "h", id="one", payload={"zone": ["b"]}, uri_spec="{scheme}://{address}")
    registration = discovery.register(service)
    assert registration.service == service
    registration.update(dataclasses.replace(registration.service, port=81))
    assert registration.service == dataclasses.replace(service, port=81)
    registration.update(payload=None, enabled=False)
    assert (registration.service.payload, registration.service.enabled) == (None, False)
    registration.unregister()
    assert registration.service.port == 81
