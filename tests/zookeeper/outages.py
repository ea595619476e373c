#!/usr/bin/env python3
"""What an outage of a network that drops packets costs: the table of outages under "Pauses" in docs/production.md.

A real server and twenty holders of locks, in two network namespaces, and a third one between them that forwards what
they send. During an outage that one drops every packet, both ways, and tells nobody. It takes Linux, root, `ip`, and
the Python package (`make build-python`)::

    outages.py [--timeout 10] [--rounds 3] [SECONDS ...]

For each outage it says after how long the next beat of each client was answered, from the beginning of the outage, and
how many locks were lost.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zookeeper import Ensemble

HERE = Path(__file__).resolve()
SERVER, BETWEEN, CLIENTS = (f"zkrecipes-{name}" for name in ("server", "between", "clients"))
# They exist inside these namespaces alone.
ADDRESSES = {SERVER: "10.77.1.1", CLIENTS: "10.77.2.1"}
HOLDERS = 20


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@contextmanager
def namespaces() -> Iterator[None]:
    try:
        ip("netns", "add", BETWEEN)
        ip("netns", "exec", BETWEEN, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
        for name, address in ADDRESSES.items():
            ip("netns", "add", name)
            gateway, device = address[:-1] + "2", f"to-{name[-7:]}"
            ip("link", "add", "out", "netns", name, "type", "veth", "peer", "name", device, "netns", BETWEEN)
            ip("-n", BETWEEN, "address", "add", f"{gateway}/24", "dev", device)
            ip("-n", BETWEEN, "link", "set", device, "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "out")
            for own in ("lo", "out"):
                ip("-n", name, "link", "set", own, "up")
            ip("-n", name, "route", "add", "default", "via", gateway)
        yield
    finally:
        for name in (BETWEEN, *ADDRESSES):
            subprocess.run(["ip", "netns", "delete", name], check=False)


def drop(seconds: float) -> None:
    for change in ("add", "delete"):
        routes = "".join(f"route {change} blackhole {address}/32\n" for address in ADDRESSES.values())
        subprocess.run(["ip", "-n", BETWEEN, "-batch", "-"], input=routes, text=True, check=True)
        if change == "add":
            time.sleep(seconds)


def serve() -> None:
    ensemble = Ensemble("3.9", tick_ms=2000)
    for node in ensemble.nodes:
        config = node.home / "zoo.cfg"
        config.write_text(config.read_text().replace("clientPortAddress=127.0.0.1", "clientPortAddress=0.0.0.0"))
    with ensemble:
        print(ensemble.nodes[0].port, flush=True)
        sys.stdin.read()


def hold(port: int, timeout: float, rounds: int, outages: list[float]) -> None:
    sys.path.insert(0, str(HERE.parents[2] / "python"))
    import zkrecipes

    logging.getLogger("zkrecipes").setLevel(logging.CRITICAL)

    def connect() -> zkrecipes.Client:
        return zkrecipes.Client(f"{ADDRESSES[SERVER]}:{port}", session_timeout=timeout)

    clients = [connect() for _ in range(HOLDERS)]
    print(f"T = {timeout:g} s, {HOLDERS} holders, {rounds} outages of each length")
    for seconds in outages:
        answered, lost, unanswered = [], 0, 0
        for _ in range(rounds):
            held = []
            for number, client in enumerate(clients):
                # Their heartbeats are due at different times.
                time.sleep(timeout / 8 / HOLDERS)
                held.append(client.lock(f"/outages/{number}").acquire())
            # An outage right after another one is another question.
            time.sleep(timeout)
            began = time.monotonic()
            drop(seconds)
            over = time.monotonic()
            left = {client: client.lease_remaining for client in clients}
            while left and time.monotonic() - began < timeout * 0.7:
                for client in list(left):
                    now = client.lease_remaining
                    if now > left[client]:
                        answered.append(time.monotonic() - began)
                        del left[client]
                    else:
                        left[client] = now
                time.sleep(0.005)
            unanswered += len(left)
            lost += sum(not one.is_held for one in held)
            for one in held:
                with suppress(zkrecipes.Lost, zkrecipes.NotHeld):
                    one.release()
        told = f"outage {seconds:.1f} s (really {over - began:.2f}): "
        if answered:
            median = statistics.median(answered)
            told += f"next answer after {min(answered):.2f} to {max(answered):.2f} s, median {median:.2f}; "
        print(f"{told}{unanswered} without one; lost {lost} of {HOLDERS * rounds}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--timeout", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("seconds", type=float, nargs="*", default=[0.2, 0.5, 1, 1.5, 2, 2.5, 3])
    asked = parser.parse_args()
    if asked.part == SERVER:
        return serve()
    if asked.part == CLIENTS:
        return hold(asked.port, asked.timeout, asked.rounds, asked.seconds)

    def part(name: str, *arguments: str) -> list[str]:
        return ["ip", "netns", "exec", name, sys.executable, str(HERE), "--part", name, *arguments]

    with namespaces():
        server = subprocess.Popen(part(SERVER), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout
            port = server.stdout.readline().strip()
            subprocess.run(part(CLIENTS, "--port", port, *sys.argv[1:]), check=True)
        finally:
            server.communicate()


if __name__ == "__main__":
    main()
