"""What Python makes of transactions that all sites commit, or none."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zkrecipes
from conftest import Connect, eventually
from test_aio import run
from zkrecipes import aio


def test_what_all_vote_for_is_committed(connect: Connect) -> None:
    coordinator = connect().two_phase_commit("/commits")
    sites = {name: connect().two_phase_commit("/commits") for name in ("stock", "bank")}
    for name, site in sites.items():
        site.join(name)
    order = coordinator.begin("order-17", list(sites), "3 chairs", timeout=30)
    assert (order.id, order.sites, order.payload) == ("order-17", ["stock", "bank"], b"3 chairs")
    with pytest.raises(zkrecipes.Exists):
        coordinator.begin("order-17", ["stock"], b"", 30)
    with ThreadPoolExecutor(1) as pool:
        outcome = pool.submit(order.outcome)
        proposals = [site.next(15) for site in sites.values()]
        for proposal in proposals:
            assert (proposal.id, proposal.payload, proposal.has_voted) == ("order-17", b"3 chairs", False)
            proposal.vote_commit()
        assert outcome.result() == "commit"
    shown = coordinator.show("order-17")
    assert shown
    assert (shown.outcome, shown.mode, shown.payload, shown.timeout) == ("commit", "coordinator", b"3 chairs", 30)
    assert [(site.site, site.is_present, site.has_voted) for site in shown.sites] == [
        ("stock", True, True),
        ("bank", True, True),
    ]
    assert [one.id for one in sites["bank"].pending()] == ["order-17"]
    for proposal in proposals:
        assert proposal.outcome(15) == "commit"
        proposal.acknowledge()
    assert coordinator.history() == []
    assert coordinator.show("order-17") is None
    assert repr(coordinator) == "<TwoPhaseCommit /commits>"
    assert repr(order) == "<CommitTransaction order-17>"
    for site in sites.values():
        site.leave()
    with pytest.raises(zkrecipes.NotHeld):
        sites["bank"].next(0)


def test_a_coordinator_is_told_who_aborted_and_why(client: zkrecipes.Client, connect: Connect) -> None:
    site = connect().two_phase_commit("/commits")
    site.join("stock")
    order = client.two_phase_commit("/commits").begin("order", ["stock"], b"", 30)
    proposal = site.next(15)
    assert order.reason == ""
    proposal.vote_abort("only 12 chairs")
    assert (order.outcome(15), order.reason) == ("abort", "stock: only 12 chairs")
    assert (proposal.outcome(15), proposal.reason) == ("abort", "stock: only 12 chairs")


def test_what_a_cancelled_task_was_told_is_told_again(connect: Connect, hosts: str) -> None:
    async def body() -> None:
        async with aio.Client(hosts) as client:
            site = client.two_phase_commit("/commits")
            joining = asyncio.ensure_future(site.join("stock"))
            await asyncio.sleep(0)
            # The loop hears of it only after this.
            sites = connect().nodes
            eventually(lambda: sites.exists("/commits"))
            time.sleep(0.2)
            joining.cancel()
            with pytest.raises(asyncio.CancelledError):
                await joining
            await site.join("stock")
            connect().two_phase_commit("/commits").begin("order", ["stock"], b"", 30)
            asking = asyncio.ensure_future(site.next())
            await asyncio.sleep(0)
            time.sleep(0.2)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert (await site.next(15)).id == "order"

    run(body())


def test_waits_are_cancelled_from_another_thread(client: zkrecipes.Client) -> None:
    site = client.two_phase_commit("/commits")
    site.join("stock")
    order = site.begin("order", ["bank"], b"", 30)
    with ThreadPoolExecutor(2) as pool:
        asking, learning = pool.submit(site.next), pool.submit(order.outcome)
        while not (asking.done() and learning.done()):
            site.cancel()
            order.cancel()
        assert isinstance(asking.exception(), zkrecipes.Cancelled)
        assert isinstance(learning.exception(), zkrecipes.Cancelled)


@pytest.mark.parametrize("sites", ["stock", b"stock", 1, [1], None])
def test_sites_that_are_no_names_are_refused(client: zkrecipes.Client, sites: Any) -> None:
    with pytest.raises(zkrecipes.InvalidType, match="sites"):
        client.two_phase_commit("/commits").begin("order", sites, b"", 1)


def test_what_cannot_begin_is_refused(client: zkrecipes.Client) -> None:
    commits = client.two_phase_commit("/commits")
    for sites in ([], ["a", "a"], ["a/b"]):
        with pytest.raises(zkrecipes.Invalid):
            commits.begin("order", sites, b"", 1)
    for timeout in (-1, float("nan"), float("inf"), None):
        with pytest.raises(zkrecipes.Invalid, match="timeout"):
            commits.begin("order", ["a"], b"", timeout)  # type: ignore[arg-type]
    with pytest.raises(zkrecipes.Invalid, match="mode"):
        client.two_phase_commit("/commits", "king")  # type: ignore[arg-type]
