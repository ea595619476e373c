"""The command `zkrecipes`: the native one, in a process made as if Python had never prepared it for itself.

What the command starts inherits the process: its signals, its environment and its standard streams.
"""

from __future__ import annotations

import os
import signal
import sys

from ._native import run_command


def main() -> int:
    restore_signals()
    restore_environment()
    open_standard_streams()
    return run_command(sys.argv)


def restore_signals() -> None:
    # Ctrl-C would set a flag that nobody looks at. One that was ignored when Python started still is.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Python ignores these, and so would the command below us. Not SIGPIPE: native code ignores that one too, tells a
    # closed pipe from other errors, and restores it in what it starts.
    for name in ("SIGXFSZ", "SIGXFZ"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)


def restore_environment() -> None:
    # In the C locale Python sets LC_CTYPE (PEP 538), for itself and for all that it starts.
    if "LC_CTYPE" not in os.environ:
        return
    try:
        with open("/proc/self/environ", "rb") as environ:
            started_with = environ.read().split(b"\0")
    except OSError:
        return
    given = [variable for variable in started_with if variable.startswith(b"LC_CTYPE=")]
    if given:
        os.environb[b"LC_CTYPE"] = given[0].partition(b"=")[2]
    else:
        del os.environ["LC_CTYPE"]


def open_standard_streams() -> None:
    # A connection must not take the number of a stream that was closed: what is printed would go there.
    for stream in range(3):
        try:
            os.fstat(stream)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
