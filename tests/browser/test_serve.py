"""The page of `zkrecipes serve` in a real browser: what it shows, follows, filters, and what it does not let happen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zkrecipes
from zkrecipes.testing import EmbeddedServer

sys.path.insert(0, str(Path(__file__).parent))

from chromium import Page

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "target" / "pictures"
COMMAND = os.environ.get("ZKR_COMMAND", str(ROOT / "target" / "debug" / "zkrecipes"))
EVIL = '<img src=x onerror="document.title=1"><script>document.title="owned"</script>\u202elive'


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as server:
        yield server


def connect(server: EmbeddedServer, identity: str) -> zkrecipes.Client:
    return zkrecipes.Client(server.connect_string, identity=identity)


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[zkrecipes.Client]:
    with connect(server, "web1:4117") as client:
        yield client


@pytest.fixture
def address(server: EmbeddedServer) -> Iterator[str]:
    words = [COMMAND, "serve", "--read-only", "--listen", "127.0.0.1:0", "--hosts", server.connect_string]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    process.stdout.close()


def shows(page: Page, text: str) -> None:
    page.until(f"document.body?.innerText.includes({json.dumps(text)})")


def lacks(page: Page, text: str) -> None:
    page.until(f"!document.body?.innerText.includes({json.dumps(text)})")


@contextmanager
def taking(client: zkrecipes.Client, path: str) -> Iterator[None]:
    """Waits for the lock in a thread and has it until the end of the block: what goes at once is not seen."""
    is_over = threading.Event()

    def take() -> None:
        # Not for ever: when a test fails, nobody may let it go.
        with client.lock(path).hold(timeout=60):
            is_over.wait(60)

    thread = threading.Thread(target=take)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_it_shows_what_is_in_use_and_follows_it(server: EmbeddedServer, client: zkrecipes.Client, address: str) -> None:
    held = client.lock("/locks/backup").acquire()
    with Page(address) as page, connect(server, "web2:977") as other:
        shows(page, "/locks/backup")
        shows(page, "web1:4117")
        assert page.run("location.search") == "", "the token does not stay where people look"
        with taking(other, "/locks/backup"):
            page.until("document.title.startsWith('1 in use, 1 waiting')")
            held.release()
            page.until(
                "[...document.querySelectorAll('#history tr')].some((row) => row.innerText.includes('web2:977'))"
            )
        assert page.messages == [], "the browser has nothing to complain of"
        asked = {url.split("/")[2] for url in page.requests if not url.startswith("data:")}
        assert asked == {address.split("/")[2]}, "nobody else is asked"


def test_what_others_wrote_is_only_ever_text(server: EmbeddedServer, client: zkrecipes.Client, address: str) -> None:
    with connect(server, EVIL) as other, Page(address) as page:
        held = other.lock("/locks/<b>bold<b>").acquire()
        shows(page, "<img src=x onerror=")
        shows(page, "<b>bold<b>")
        assert page.run("document.querySelectorAll('img, b b, td script').length") == 0
        assert "owned" not in page.run("document.title")
        assert "\u202e" not in page.run("document.body.innerText")
        held.release()
        page.until("document.querySelector('#history tr') !== null")
        assert page.run("document.querySelectorAll('img').length") == 0
        assert page.messages == []


def test_the_policy_holds_whatever_gets_into_the_page(address: str) -> None:
    with Page(address) as page:
        shows(page, "No recipe is in use here.")
        page.run(
            "document.body.insertAdjacentHTML('beforeend', "
            '\'<img src="http://elsewhere.invalid/x.png" onerror="window.ran = 1">\')'
        )
        page.run(
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
        )
        page.until("true")
        blocked = page.run(
            "fetch('http://elsewhere.invalid/').then(() => 'let through', () => 'refused')",
        )
        assert blocked == "refused"
        assert page.run("window.ran === undefined")
        assert any("Content Security Policy" in message for message in page.messages)


def test_it_counts_and_dates_holders_as_the_command_does(
    server: EmbeddedServer, client: zkrecipes.Client, address: str
) -> None:
    nodes, path = client.nodes, "/limits/exports"
    contender = "_c_8a3c7a5e-58f5-4a0d-9d52-3c0f35f9f1d1"
    for name in ("leases", "locks"):
        nodes.ensure(f"{path}/{name}")
    # Who waits has been there for longer than any of the permits.
    waiter = nodes.create(f"{path}/locks/{contender}-lock-", b"waits", mode="ephemeral_sequential")
    queued = nodes.get(waiter)[1].ctime
    first = 0
    for who in ["a"] * 5 + ["b", "c", "d"]:
        while True:
            permit = nodes.create(f"{path}/leases/{contender}-lease-", who.encode(), mode="ephemeral_sequential")
            created = nodes.get(permit)[1].ctime
            if created > queued:
                break
            nodes.delete(permit)
        first = first or created
    with Page(address) as page:
        shows(page, path)
        page.until("document.querySelector('summary')?.innerText === 'a, b, c +1'")
        assert page.run("Date.parse(document.querySelector('[data-label=since] [data-since]').dataset.since)") == first


def test_the_filter_leaves_what_matches(client: zkrecipes.Client, address: str) -> None:
    with client.lock("/locks/backup"), client.lock("/locks/report"), Page(address) as page:
        shows(page, "/locks/report")
        page.run(
            "document.getElementById('filter').value = 'BACK';"
            "document.getElementById('filter').dispatchEvent(new Event('input'))"
        )
        lacks(page, "/locks/report")
        shows(page, "/locks/backup")
        page.run("document.getElementById('waited').click()")
        shows(page, "Nothing matches.")


def test_what_was_opened_stays_open(server: EmbeddedServer, client: zkrecipes.Client, address: str) -> None:
    with client.lock("/locks/backup"), Page(address) as page:
        shows(page, "/locks/backup")
        page.run("document.querySelector('summary').click()")
        shows(page, "holds, lock")
        with client.lock("/locks/other"):
            shows(page, "/locks/other")
            assert page.run("document.querySelector('details[data-key=\"lock /locks/backup\"]').open")


def test_an_outage_is_said_and_its_end_too(server: EmbeddedServer, client: zkrecipes.Client, address: str) -> None:
    with Page(address) as page:
        shows(page, "No recipe is in use here.")
        server.pause()
        shows(page, "No ZooKeeper server answers")
        server.resume()
        lacks(page, "No ZooKeeper server answers")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)], ids=["phone", "desktop"])
def test_it_fits_and_can_be_read(
    server: EmbeddedServer, client: zkrecipes.Client, address: str, width: int, height: int, dark: bool
) -> None:
    with Page(address) as page, connect(server, "web2.internal.example.org:977") as other:
        page.look(width, height, dark)
        in_use = everything(client, other)
        first = client.lock("/locks/backup").acquire()
        with taking(other, "/locks/backup"):
            page.until("document.title.includes('1 waiting')")
            first.release()
            page.until("document.querySelectorAll('#history tr').length >= 2")
        with client.lock("/locks/a/rather/long/path/of/a/department/backup"):
            held = other.lock("/locks/backup").acquire()
            with taking(client, "/locks/backup"):
                page.until("document.title.includes('1 waiting')")
                page.until("document.querySelectorAll('#history tr').length >= 3")
                for path in PATHS:
                    shows(page, path)
                page.run("document.querySelector('summary').click()")
                scheme = "dark" if dark else "light"
                page.picture(PICTURES / f"serve-{'phone' if width < 600 else 'desktop'}-{scheme}.png")
                # Nothing hangs over the side.
                assert page.run("document.documentElement.scrollWidth <= innerWidth")
                assert page.run(CONTRAST) == [], "letters stand out from what is behind them"
                held.release()
        assert in_use


PATHS = [
    "/limits/exports",
    "/locks/catalogue",
    "/leaders/api",
    "/queues/mail",
    "/workers",
    "/barriers/step",
]


def everything(client: zkrecipes.Client, other: zkrecipes.Client) -> list[object]:
    """One of each recipe that is seen, in use for as long as the caller keeps the answer: what nobody has is let go."""
    permits = client.semaphore(PATHS[0], 3).acquire(2)
    reading = other.read_write_lock(PATHS[1]).read.acquire()
    leading = client.election(PATHS[2], b"10.0.0.7:80").campaign()
    queue = client.queue(PATHS[3])
    for data in (b"alice", b"bob"):
        queue.put(data)
    item = queue.claim()
    workers = client.group(PATHS[4])
    workers.join("web1", b"10.0.0.7")
    party = other.double_barrier(PATHS[5], 1)
    party.enter()
    return [permits, reading, leading, item, workers, party]


# For each piece of text: its contrast with what is behind it is at least what people need (WCAG AA).
CONTRAST = """
(() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !node.offsetParent || node.tagName === "SCRIPT") continue;
    const pair = [light(numbers(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < 4.5) poor.push(`${node.textContent}: ${contrast.toFixed(1)}`);
  }
  return poor;
})()
"""
