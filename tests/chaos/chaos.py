#!/usr/bin/env python3
"""All recipes in all languages at once, while processes, servers and connections fail; then a checker reads what
everybody was told, and says which promise was not kept. README.md says more.

    chaos.py [--servers embedded|zookeeper|ensemble] [--nodes 3|4|5] [--seconds 600 | --minutes 10] [--seed N]
             [--rate CALLS_A_SECOND] [--languages rust,python] [--only "client stopped,leader cut off"]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import checker
from drivers import PATIENCE, ROOT, Driver, Gone, Hangs, Player, build_curator, command
from history import FORCED_END, GUESTS, Fault, History, write
from machine import Machines
from players import Game, Table, play, tables
from servers import CLOCKS, Chance, Embedded, Mischief, Real, Servers, Way, clock
from zkrecipes import Error, aio

LANGUAGES = ["rust", "c", "python", "asyncio", "node"]
# Of each process.
SESSIONS = "AB"
SESSION = 4.0
# In seconds, between two faults.
PAUSE = 3.0
# Requests whose answers may get lost.
REQUESTS = ["create*", "multi", "delete", "setData", "getChildren*", "getData", "sync"]


class World:
    def __init__(self, servers: Servers, machines: Machines, options: argparse.Namespace, diary: IO[bytes]) -> None:
        self.servers = servers
        self.machines = machines
        self.options = options
        self.history = History()
        self.chance = random.Random(options.seed)
        self.wrong: list[str] = []
        self.is_over = asyncio.Event()
        self.tables = tables()
        self._diary = diary
        self._seats = sum(table.seats for table in self.tables)
        self._ways = {language: Way(servers) for language in (*options.languages, *options.guests)}
        self._drivers: dict[str, Driver] = {}
        self._born: Counter[str] = Counter()
        self._paths: Counter[str] = Counter()
        self._began = time.monotonic()

    # What is played.

    async def rest(self) -> None:
        await asyncio.sleep(self.chance.expovariate(self.options.rate / self._seats))

    async def lay(self, observer: aio.Client, table: Table) -> None:
        """A new path for a table, with the node that is written to."""
        self._paths[table.kind] += 1
        path = f"/chaos/{table.kind}/{self._paths[table.kind]}"
        for node, data in ((f"{path}-n", "0"), (f"{path}-done", "")):
            await observer.nodes.ensure(node.rpartition("/")[0])
            with contextlib.suppress(Error):
                await observer.nodes.create(node, data)
        table.calls, table.path = 0, path

    async def keep_paths_short(self, observer: aio.Client) -> None:
        while not self.is_over.is_set():
            await asyncio.sleep(0.5)
            for way in self._ways.values():
                way.forget()
            for table in self.tables:
                if table.rounds and table.calls > table.rounds:
                    with contextlib.suppress(Error):
                        await self.lay(observer, table)

    async def start(self, language: str) -> Driver:
        self._born[language] += 1
        machine = self.machines.of(language)
        environment = machine.environment if machine else {}
        driver = await Driver(language, self._born[language], self.options.profile, self._diary, environment).start()
        self._drivers[language] = driver
        return driver

    async def connect(self, driver: Driver, hosts: str, sessions: Iterable[str]) -> None:
        settings = (f"session_timeout={int(SESSION * 1000)}", "connect_timeout=5000")
        for session in sessions:
            name = f"{driver.name}.{session}"
            while (await driver.ask(name, "connect", hosts, f"identity={name}", *settings))[0] != "ok":
                await asyncio.sleep(0.2)

    async def live(self, language: str) -> None:
        """The processes of a language, one after the other."""
        while not self.is_over.is_set():
            driver = await self.start(language)
            try:
                await self.connect(driver, self._ways[language].hosts, SESSIONS)
                await gone_or_done(self._sit(driver, language))
                await driver.end()
            except Gone:
                if not driver.was_killed and language not in GUESTS:
                    self.wrong.append(f"{driver.name} has ended by itself")
                    self.is_over.set()

    def _sit(self, driver: Driver, language: str) -> list[asyncio.Task[None]]:
        """Everybody of this process. The seats of each table belong to languages in turn."""
        sitting = list[asyncio.Task[None]]()
        for number, table in enumerate(self.tables):
            for place in range(table.seats):
                # A guest sits beside whoever else has its place at the lock.
                is_guest = table.kind == "lock" and GUESTS[place : place + 1] == (language,)
                seats = [language] if is_guest else self.options.languages
                if seats[(number + place) % len(seats)] == language:
                    seat = len(sitting)
                    me = Player(driver, SESSIONS[seat % len(SESSIONS)], seat, self.history, table.recipe)
                    game = Game(random.Random(self.chance.random()), self.rest, self.is_over, place)
                    sitting.append(asyncio.create_task(self._play(me, table, game)))
        return sitting

    async def _play(self, me: Player, table: Table, game: Game) -> None:
        try:
            await play(me, table, game)
        except Hangs as hang:
            self.wrong.append(f"does not come back: {hang}")
            self.is_over.set()

    # What goes wrong.

    def trouble_for_clients(self) -> dict[str, Mischief]:
        all_: dict[str, Mischief] = {
            "client killed": self._kill,
            "client stopped": self._stop,
            "connections broken": self._break,
            "client cut off": self._cut,
            "answer lost": self._lose,
            FORCED_END: self._expire,
        }
        return all_ if self.machines.why_not else all_ | {"client's clock stepped": self._step_clock}

    def trouble_for_servers(self) -> dict[str, Mischief]:
        return self.servers.mischief() | {"server cut off from clients": self._cut_server}

    def _anybody(self, chance: Chance) -> Driver:
        return self._drivers[chance.choice(list(self._drivers))]

    async def _kill(self, chance: Chance) -> str:
        driver = self._anybody(chance)
        await driver.kill()
        return driver.name

    async def _stop(self, chance: Chance) -> str:
        driver, share = self._anybody(chance), outage(chance)
        driver.stop()
        try:
            await asyncio.sleep(share * SESSION)
        finally:
            driver.resume()
        return f"{driver.name} for {share:.1f} T"

    async def _break(self, chance: Chance) -> str:
        driver = self._anybody(chance)
        self._ways[driver.language].drop()
        return driver.name

    async def _cut(self, chance: Chance) -> str:
        driver, share = self._anybody(chance), outage(chance)
        what = chance.choice(["black_hole", "black_hole_requests", "black_hole_replies"])
        self._ways[driver.language].inject(f"{what} for={int(share * SESSION * 1000)}ms")
        await asyncio.sleep(share * SESSION)
        return f"{driver.name} {what} for {share:.1f} T"

    async def _cut_server(self, chance: Chance) -> str:
        """From all clients: they go to another one, if there is one."""
        server, share = chance.randrange(len(self.servers.addresses)), outage(chance)
        what = chance.choice(["black_hole", "black_hole_requests", "black_hole_replies"])
        for way in self._ways.values():
            way.inject(f"{what} for={int(share * SESSION * 1000)}ms", server)
        await asyncio.sleep(share * SESSION)
        return f"{server + 1} {what} for {share:.1f} T"

    async def _step_clock(self, chance: Chance) -> str:
        driver, seconds = self._anybody(chance), chance.choice(CLOCKS)
        machine = self.machines.of(driver.language)
        assert machine
        machine.step_clock(seconds)
        return f"{driver.name}, {clock(seconds)}"

    async def _lose(self, chance: Chance) -> str:
        driver = self._anybody(chance)
        fault = f"{chance.choice(['drop_after', 'drop_before'])} {chance.choice(REQUESTS)} nth={chance.randint(1, 5)}"
        self._ways[driver.language].inject(fault)
        return f"{driver.name} {fault}"

    async def _expire(self, chance: Chance) -> str:
        driver = self._anybody(chance)
        name = f"{driver.name}.{chance.choice(SESSIONS)}"
        called = time.monotonic()
        try:
            session = await driver.ask(name, "session")
            if session[0] == "ok" and len(session) > 1:
                await self._ways[driver.language].expire(int(session[1]))
        finally:
            # Also where nobody knows whether it was.
            self.note(FORCED_END, name, called)
        return ""

    async def make_trouble(self, of: str, all_: dict[str, Mischief]) -> None:
        """One fault after the other. What is done does not depend on what players have done meanwhile."""
        chance = random.Random(f"{self.options.seed} {of}")
        names = [name for name in all_ if not self.options.only or name in self.options.only]
        while names and not self.is_over.is_set():
            await asyncio.sleep(chance.expovariate(0.5 / self.options.pause))
            name = chance.choice(names)
            called = time.monotonic()
            with contextlib.suppress(Gone, ProcessLookupError):
                if whom := await all_[name](chance):
                    self.note(name, whom, called)
            called = time.monotonic()
            if of == "servers":
                for server in await self.servers.revive():
                    self.note("server ended by itself", server, called)

    def note(self, fault: str, whom: str, called: float, *, is_printed: bool = True) -> None:
        now = time.monotonic()
        self.history.faults.append(Fault(fault, whom, called, now))
        if is_printed:
            print(f"  {now - self._began:6.1f}  {fault}: {whom}", flush=True)

    async def collect(self, observer: aio.Client) -> None:
        """Nodes that nobody needs any more may be deleted by servers at any time, if they are empty."""
        while not self.is_over.is_set():
            await asyncio.sleep(self.chance.expovariate(5))
            table = self.chance.choice(self.tables)
            if table.kind in ("lock", "read-write", "semaphore", "election") or table.recipe == "queue":
                below = self.chance.choice(["", "/locks", "/leases"]) if table.kind == "semaphore" else ""
                called = time.monotonic()
                with contextlib.suppress(Error):
                    await observer.nodes.delete(table.path + below)
                    self.note("node deleted", table.path + below, called, is_printed=False)

    # From the beginning to the end.

    async def play(self) -> None:
        async with aio.Client(",".join(self.servers.addresses), session_timeout=10) as observer:
            for table in self.tables:
                await self.lay(observer, table)
            lives = [asyncio.create_task(self.live(language)) for language in self._ways]
            beside = [
                self.make_trouble("servers", self.trouble_for_servers()),
                self.make_trouble("clients", self.trouble_for_clients()),
                self.collect(observer),
                self.keep_paths_short(observer),
            ]
            tasks = [asyncio.create_task(one) for one in beside]
            for task in tasks:
                task.add_done_callback(self._end_if_failed)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.is_over.wait(), self.options.seconds)
            self.is_over.set()
            for task in tasks:
                await task
            await self.servers.heal()
            self.machines.heal()
            for way in self._ways.values():
                way.heal()
            try:
                await asyncio.gather(*lives)
                if not self.wrong:
                    await self._empty()
            except Hangs as hang:
                self.wrong.append(f"does not come back: {hang}")

    def _end_if_failed(self, task: asyncio.Task[None]) -> None:
        """Without its faults a run is worth nothing."""
        if not task.cancelled() and task.exception():
            self.is_over.set()

    async def _empty(self) -> None:
        """Takes what is left in the queues, when nobody else is there."""
        driver = await self.start("rust")
        await self.connect(driver, ",".join(self.servers.addresses), "A")
        for number, table in enumerate(table for table in self.tables if table.recipe == "queue"):
            me = Player(driver, "A", number, self.history, "queue")
            await me.make(table.path, "queue")
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                # Who has died is there until its session has ended.
                if table.kind != "claim":
                    came = await me.call("get-item", "1000")
                elif came := await me.call("claim", "1000"):
                    await me.call("ack-with-create", f"{me.path}-done/{came[0]}", "x", told=(came[0],))
                if not came and await me.call("length") == ("0",):
                    break
            else:
                self.wrong.append(f"{table.path} does not get empty")
            if table.kind == "claim":
                await me.call("children", f"{me.path}-done", plain=True)
        await driver.end()

    def close(self) -> None:
        for way in self._ways.values():
            way.close()


def outage(chance: Chance) -> float:
    """In parts of the session timeout: one that loses nothing, or one that is longer than every session."""
    return chance.uniform(*chance.choice([(0.1, 0.6), (1.0, 1.8)]))


def guests() -> list[str]:
    """Those that are there; of the others it is said why they are not."""
    absent = {
        "kazoo": "" if os.environ.get("ZKR_KAZOO_PYTHON") else "ZKR_KAZOO_PYTHON does not name a Python that has it",
        "curator": build_curator(),
    }
    for guest, why in absent.items():
        if why:
            print(f"without {guest}: {why}", flush=True)
    return [guest for guest in GUESTS if not absent[guest]]


async def gone_or_done(playing: list[asyncio.Task[None]]) -> None:
    """Until all have ended, each by itself: also those of a process that was killed write down their last call."""
    done = await asyncio.gather(*playing, return_exceptions=True)
    for ended in done:
        if ended is not None:
            raise ended


def covered(history: History) -> str:
    """Calls of each recipe in each language, with those whose outcome nobody knows."""
    all_, unknown = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for call in history.calls:
        all_[call.recipe, call.language] += 1
        unknown[call.recipe, call.language] += call.is_unknown
    lines = [f"{'calls (unknown)':<18}" + "".join(f"{language:>14}" for language in (*LANGUAGES, *GUESTS))]
    for recipe in sorted({recipe for recipe, _ in all_}):
        told = [f"{all_[recipe, one]} ({unknown[recipe, one]})" for one in (*LANGUAGES, *GUESTS)]
        lines.append(f"{recipe:<18}" + "".join(f"{one:>14}" for one in told))
    faults = Counter(fault.fault for fault in history.faults)
    lines.append("faults: " + (", ".join(f"{name} {times}" for name, times in sorted(faults.items())) or "none"))
    lost, written = checker.lost_guarded(history)
    lines.append(f"writes under a guard: {lost} of {written} lost")
    lost, written = checker.lost_unguarded(history)
    lines.append(f"writes without a guard, of which nothing is promised: {lost} of {written} lost")
    return "\n".join(lines)


def missing(profile: str, languages: Iterable[str]) -> list[str]:
    """What is to be built before."""
    programs = [Path(word) for language in languages for word in command(language, profile) if "/" in word]
    return [str(program.relative_to(ROOT)) for program in programs if not program.exists()]


async def run(options: argparse.Namespace) -> int:
    folder = ROOT / "target" / "chaos"
    folder.mkdir(parents=True, exist_ok=True)
    options.guests = guests()
    machines = Machines(folder)
    if machines.why_not:
        print(f"no clock is stepped, and no disk slow or full: {machines.why_not}", flush=True)
    servers: Servers
    nodes = options.nodes if options.servers == "ensemble" else 1
    servers = Embedded(SESSION) if options.servers == "embedded" else Real(SESSION, nodes, machines)
    kept = folder / f"{options.servers}-{options.seed}.jsonl"
    print(f"chaos on {servers.kind}, seed {options.seed}, {options.seconds:.0f} s", flush=True)
    with (folder / f"{options.servers}-{options.seed}.log").open("wb") as diary:
        world = World(servers, machines, options, diary)
        try:
            known = world.trouble_for_clients() | world.trouble_for_servers()
            if unknown := set(options.only or ()) - known.keys():
                print(f"no such faults here: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
                return 2
            await world.play()
        finally:
            world.close()
            servers.close()
            machines.close()
            with kept.open("w") as to:
                write(world.history, to)
    print(covered(world.history))
    began = time.monotonic()
    refusals = checker.check(world.history)
    calls = len(world.history.calls)
    print(f"{calls} calls, checked in {time.monotonic() - began:.1f} s; the history is in {kept.relative_to(ROOT)}")
    for refusal in refusals:
        print(f"\nREFUSED {refusal}", file=sys.stderr)
    for wrong in world.wrong:
        print(f"\nWRONG {wrong}", file=sys.stderr)
    broken = len(refusals) + len(world.wrong)
    print(f"0 passed, 1 failed: {broken} things are not as promised" if broken else "1 passed, 0 failed")
    return 1 if broken else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", choices=["embedded", "zookeeper", "ensemble"], default="ensemble")
    parser.add_argument("--nodes", type=int, choices=[3, 4, 5], default=3, help="of an ensemble of real servers")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--minutes", type=float, help="instead of seconds")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--rate", type=float, default=250, help="calls a second, about")
    parser.add_argument("--pause", type=float, default=PAUSE, help="seconds between two faults, on the average")
    parser.add_argument(
        "--languages", type=lambda told: told.split(","), default=LANGUAGES, help="which of them, with commas; all"
    )
    parser.add_argument("--only", type=lambda told: told.split(","), help="these faults, with commas; all")
    parser.add_argument("--profile", default="debug", help="where the drivers are built, below target")
    options = parser.parse_args()
    # The observer's own troubles are nobody's.
    logging.getLogger("zkrecipes").setLevel(logging.CRITICAL)
    if options.minutes is not None:
        options.seconds = options.minutes * 60
    if absent := missing(options.profile, options.languages):
        print(f"{', '.join(absent)}: not there; `make build` builds it", file=sys.stderr)
        return 2
    return asyncio.run(run(options))


if __name__ == "__main__":
    sys.exit(main())
