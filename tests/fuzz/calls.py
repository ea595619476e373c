#!/usr/bin/env python3
"""Every function of the C header, called at random by several threads at once, with any arguments that C allows.

    tests/fuzz/calls.py                          a minute
    tests/fuzz/calls.py --seconds 600 --seed 7

Handles are live, freed, of another kind or NULL; texts are paths, none, empty, too long or no UTF-8; numbers are those
where something ends. A round takes three seconds in a process of its own: then the clients are closed, which has to end
every call, and everything is freed. A round fails if its process dies, if a call has not come back ten seconds after
its client was closed, or if a function that failed has left something where its result goes. What each thread was
calling is printed then.
"""

import argparse
import ctypes
import json
import mmap
import os
import random
import re
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "include/zkrecipes.h"
# What calls hand over that is memory of the caller, freed once. Everything else with a name of ours is a handle.
RESULTS = {"error", "buffer", "strings", "contenders", "part_results", "entries", "payloads", "dead_letters", "items"}
RESULTS |= {"commit_statuses", "commit_transactions", "proposals", "instances", "metrics"}
# What callers make themselves, beside options.
STRUCTS = {"stat", "queue_counts", "outcome", "node_state", "service"}
# What is good is drawn more often, or hardly a call would get far.
TEXTS = [b"/a", b"/a/b", b"/b", b"/c/d", b"1", b"a-b"] * 8
TEXTS += [None, b"", b"/", b"no path", b"/a//b", b"/\xff", b"\xf0\x9f\x8f\x84", b"/" + b"x" * 5000, b"a=b", b"[]"]
NUMBERS = [0, 0, 1, 1, 2, 5, 20, 100, -1, -(2**63), 2**63 - 1, 2**31, -(2**31) - 1, 1 << 20]
SMALL_NUMBERS = [0, 0, 1, 1, 2, 3, -1, 99, 2**31 - 1, -(2**31)]
TIMEOUTS = [0, 1, 5, 20] * 40 + NUMBERS[-6:]
SIZES = [0, 1, 2, 3, 16, 2**16, 2**20 + 1]
# Of options, as they are in other versions of the header.
STRUCT_SIZES = [0, 8, 16, 24, 64, 200, 1000, 4096]
ROUND = 3.0
PATIENCE = 10.0
LINE = 2048
OK = 0
# Takes anything, does nothing, and is as good as a callback.
NOTHING = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p).value


@dataclass
class Function:
    """One of the header's."""

    name: str
    result: str
    # Types and names.
    arguments: list[tuple[str, str]]

    @property
    def is_status(self) -> bool:
        return self.result == "zkr_status"

    @property
    def is_end(self) -> bool:
        return self.name.endswith("_free") or "close" in self.name


def functions() -> list[Function]:
    header = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    found = []
    for result, name, all_of_them in re.findall(
        r"^([a-z][\w ]*?\w(?: \*)?) ?(zkr_\w+)\(([^;{]*?)\);", header, flags=re.M | re.S
    ):
        split = (re.fullmatch(r"(.*?)(\w+)", " ".join(one.split())) for one in all_of_them.split(","))
        arguments = [(one[1].strip(), one[2]) for one in split if one and one[1]]
        found.append(Function(name, result, arguments))
    return found


class Handles:
    """Those there are, by their types; the last freed ones stay."""

    def __init__(self) -> None:
        self.of: dict[str, list[int]] = {}
        self.lock = threading.Lock()

    def add(self, kind: str, handle: int) -> None:
        with self.lock:
            pool = self.of.setdefault(kind, [])
            pool.append(handle)
            del pool[:-12]

    def one(self, kind: str, chance: random.Random) -> int | None:
        with self.lock:
            if chance.random() < 0.03:
                return None
            if chance.random() < 0.04:
                kind = chance.choice(list(self.of))
            pool = self.of.get(kind)
            return chance.choice(pool) if pool else None


@dataclass
class Call:
    """The arguments of one."""

    values: list = field(default_factory=list)
    # What they point to.
    memory: list = field(default_factory=list)
    # Where results go, by their types.
    places: list[tuple[str, ctypes.c_void_p]] = field(default_factory=list)
    # How many there are of what the last one points to.
    count: int | None = None

    def point_to(self, memory: object) -> int:
        self.memory.append(memory)
        return ctypes.addressof(memory)

    def shown(self) -> str:
        def one(value: object) -> str:
            bare = value.value
            if isinstance(bare, bytes):
                return repr(bare[:24])
            return hex(bare) if isinstance(bare, int) and abs(bare) >= 1 << 32 else repr(bare)

        return ", ".join(map(one, self.values))


class Caller:
    """One thread's calls."""

    def __init__(
        self, library: ctypes.CDLL, known: list[Function], handles: Handles, seed: str, line: memoryview
    ) -> None:
        self.library, self.handles, self.line = library, handles, line
        # Hardly anything comes behind the end of a client.
        self.last = [one for one in known if one.is_end and "client" in one.name]
        self.ends = [one for one in known if one.is_end and one not in self.last]
        self.others = [one for one in known if not one.is_end and "connect" not in one.name]
        self.chance = random.Random(seed)
        self.made: Counter[str] = Counter()
        self.successful: set[str] = set()
        self.results: dict[str, list[int]] = {}
        self.wrong: str | None = None

    def run(self, until: float) -> None:
        while time.monotonic() < until and not self.wrong:
            drawn = self.chance.random()
            few = self.last if drawn < 0.0001 else self.ends
            self.call(self.chance.choice(few if drawn < 0.04 else self.others))

    def call(self, function: Function) -> None:
        call = Call()
        for kind, name in function.arguments:
            call.values.append(self.drawn(call, function, kind, name))
        line = f"{function.name}({call.shown()})"[: LINE - 2]
        self.line[: len(line) + 1] = line.encode() + b"\0"
        answer = self.entry(function.name, ctypes.c_int if function.is_status else ctypes.c_void_p, call.values)
        self.line[:1] = b"\0"
        self.made[function.name] += 1
        if not function.is_status or answer == OK:
            self.successful.add(function.name)
        for kind, place in call.places:
            if place.value and function.is_status and answer != OK and kind != "error":
                self.wrong = f"{line} answered {answer} and left a {kind}"
            if place.value:
                self.take(kind, place.value)
        handed = re.fullmatch(r"zkr_(\w+) \*", function.result)
        if handed and answer:
            self.take(handed[1], answer)

    def entry(self, name: str, result: type, values: list) -> int | None:
        # Of its own for each call: functions of a library have one list of types for all threads.
        address = ctypes.cast(self.library[name], ctypes.c_void_p).value
        return ctypes.CFUNCTYPE(result, *map(type, values))(address)(*values)

    def take(self, kind: str, value: int) -> None:
        if kind not in RESULTS:
            self.handles.add(kind, value)
            return
        pool = self.results.setdefault(kind, [])
        pool.append(value)
        if len(pool) > 4:
            self.entry(f"zkr_{kind}_free", None, [ctypes.c_void_p(pool.pop(0))])

    def drawn(self, call: Call, function: Function, kind: str, name: str) -> object:
        chance = self.chance
        if kind == "size_t":
            count, call.count = call.count, None
            return ctypes.c_size_t(chance.choice(SIZES[:4]) if count is None else count)
        if kind == "const char *":
            return ctypes.c_char_p(chance.choice(TEXTS))
        if kind == "bool":
            return ctypes.c_bool(chance.random() < 0.5)
        if kind in ("int64_t", "uint64_t"):
            return ctypes.c_int64(chance.choice(TIMEOUTS if name.startswith("timeout") else NUMBERS))
        if kind.endswith("_callback"):
            return ctypes.c_void_p(chance.choice([NOTHING] * 4 + [None]))
        if not kind.endswith("*"):
            return ctypes.c_int32(chance.choice(SMALL_NUMBERS))
        return ctypes.c_void_p(self.pointer(call, function, kind, name))

    def pointer(self, call: Call, function: Function, kind: str, name: str) -> int | None:
        chance = self.chance
        is_ours = re.fullmatch(r"(?:const )?zkr_(\w+) \*(\*|const \*|)", kind)
        ours, how = is_ours.groups() if is_ours else ("", "")
        if how == "const *" or kind in ("const char *const *", "const void *const *"):
            call.count = chance.randrange(4)
            drawn = [self.handles.one(ours, chance) if ours else None for _ in range(call.count + 1)]
            array = (ctypes.c_void_p * len(drawn))(*drawn)
            if not ours:
                array = (ctypes.c_char_p * len(drawn))(*(chance.choice(TEXTS) for _ in drawn))
            return call.point_to(array)
        if ours in RESULTS and not how:
            pool = self.results.get(ours)
            value = chance.choice(pool) if pool and chance.random() < 0.9 else None
            if value and function.name.endswith("_free"):
                pool.remove(value)
            return value
        is_struct = ours.endswith("options") or ours in STRUCTS
        if ours and not how and not is_struct:
            # Updates are lent to callbacks.
            return None if ours == "update" else self.handles.one(ours, chance)
        if name == "user_data" or chance.random() < (0.5 if ours.endswith("options") else 0.05):
            return None
        if how == "*":
            place = ctypes.c_void_p()
            call.places.append((ours, place))
            return call.point_to(place)
        if is_struct:
            struct = ctypes.create_string_buffer(4096)
            if kind.startswith("const"):
                ctypes.cast(struct, ctypes.POINTER(ctypes.c_size_t))[0] = chance.choice(STRUCT_SIZES)
            return call.point_to(struct)
        if kind == "const void *":
            call.count = chance.choice(SIZES)
            return call.point_to(ctypes.create_string_buffer(call.count + 1))
        # Numbers, to be read or written.
        return call.point_to((ctypes.c_uint64 * 8)())


def play(path: Path, seed: int, journal: mmap.mmap, threads: int) -> int:
    """One round, in a process of its own. Its end is what it answers."""
    library, known, handles = ctypes.CDLL(str(path)), functions(), Handles()
    lines = [memoryview(journal)[at * LINE : (at + 1) * LINE] for at in range(threads)]
    callers = [Caller(library, known, handles, f"{seed}-{at}", line) for at, line in enumerate(lines)]
    first = callers[0]
    for _ in range(2):
        client = ctypes.c_void_p()
        place = ctypes.c_void_p(ctypes.addressof(client))
        arguments = [ctypes.c_char_p(b"embedded:"), ctypes.c_void_p(), place, ctypes.c_void_p()]
        if first.entry("zkr_client_connect", ctypes.c_int, arguments) != OK:
            print(f"no server: {path} has none, or no libzkrecipes_testing beside it", file=sys.stderr)
            return 1
        handles.add("client", client.value)
    clients = list(handles.of["client"])
    for maker in [one for one in known if one.name.endswith("_new")] * 8:
        first.call(maker)
    until = time.monotonic() + ROUND
    running = [threading.Thread(target=caller.run, args=[until], daemon=True) for caller in callers]
    for thread in running:
        thread.start()
    time.sleep(ROUND)
    for client in clients:
        arguments = [ctypes.c_void_p(client), ctypes.c_int64(2000), ctypes.c_void_p()]
        first.entry("zkr_client_close", ctypes.c_int, arguments)
    # Who dispatches callbacks does so until the client is freed.
    end = time.monotonic() + PATIENCE
    busy = running
    while busy and time.monotonic() < end:
        time.sleep(0.02)
        lines_of_the_living = zip(running, lines, strict=True)
        busy = [one for one, line in lines_of_the_living if one.is_alive() and b"_dispatch(" not in bytes(line[:40])]
    for client in [] if busy else clients:
        first.entry("zkr_client_free", None, [ctypes.c_void_p(client)])
    for thread in running:
        thread.join(max(0.0, end - time.monotonic()))
    wrong = [caller.wrong for caller in callers if caller.wrong]
    if any(thread.is_alive() for thread in running):
        wrong.append("a call has not come back although its client was closed")
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    for kind, pool in handles.of.items():
        for handle in pool:
            first.entry(f"zkr_{kind}_free", None, [ctypes.c_void_p(handle)])
    successful = set().union(*(caller.successful for caller in callers))
    told = json.dumps({"calls": sum(sum(caller.made.values()) for caller in callers), "successful": sorted(successful)})
    journal[threads * LINE : threads * LINE + len(told)] = told.encode()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--library", type=Path, default=ROOT / "target/tests-c/prefix/lib/libzkrecipes.so")
    parser.add_argument("--verbose", action="store_true", help="names the functions that never succeeded")
    args = parser.parse_args()
    end, rounds, calls = time.monotonic() + args.seconds, 0, 0
    never = {one.name for one in functions()}
    known = len(never)
    while rounds == 0 or time.monotonic() < end:
        journal = mmap.mmap(-1, args.threads * LINE + (1 << 16))
        seed = args.seed + rounds
        child = os.fork()
        if child == 0:
            signal.alarm(round(ROUND + 3 * PATIENCE))
            os._exit(play(args.library, seed, journal, args.threads))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status != 0:
            print(f"seed {seed}: the process ended with {status}; what each thread was calling:")
            for at in range(args.threads):
                line = journal[at * LINE : (at + 1) * LINE].split(b"\0")[0]
                print(" ", line.decode(errors="replace") or "-")
            return 1
        told = json.loads(journal[args.threads * LINE :].split(b"\0")[0])
        never -= set(told["successful"])
        calls, rounds = calls + told["calls"], rounds + 1
    did = f"{known - len(never)} of {known} functions did what they are for"
    print(f"calls        {calls:>10} calls in {rounds} rounds from seed {args.seed}: {did}")
    if args.verbose:
        print(*sorted(never), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
