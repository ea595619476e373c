"""A program of examples/python/fencing, with work that the test holds up: it begins when the program has taken over."""

import importlib
import sys

import gate

name = sys.argv.pop(1)
sys.path.insert(0, "")
example = importlib.import_module(name)


def work(body: str) -> str:
    gate.work()
    return f"{body}{gate.PLACE.name}\n"


example.work = work
try:
    example.main(*sys.argv[1:])
except example.Stale as error:
    sys.exit(f"nothing was written: {error}")
