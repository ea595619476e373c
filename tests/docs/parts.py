"""What a part of a program needs around it, so that a compiler looks at each name of ours in it.

What the part calls of its own (`publish`, `work`, …) is made up here. A name of the library that is wrong is an error in
every language.
"""

from __future__ import annotations

import re

from snippets import Snippet

# What the pages call of their readers' own.
THEIRS = [
    "publish",
    "work",
    "compute",
    "look_up",
    "rebuild",
    "check",
    "export",
    "export_all",
    "transfer",
    "route",
    "add",
    "replace",
    "begin",
    "follow",
    "prepare",
    "apply",
    "finish",
    "send_mail",
    "call",
    "page",
    "start_work",
    "stop_work",
    "carry_out",
    "serve",
    "tidy_up",
    "connect_to",
]

C = """
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <zkrecipes.h>
#include <zkrecipes_testing.h>
#define ANY(name) static int name()
"""
C_LOCALS = {
    "zkr_lock *": "lock alice bob", "zkr_read_write_lock *": "catalogue", "zkr_semaphore *": "exports", "zkr_multi_lock *": "both", "zkr_names *": "names",
    "zkr_buffer *": "address created", "zkr_subscription *": "subscription", "zkr_counter *": "orders", "zkr_group *": "group", "zkr_entries *": "members",
    "zkr_config *": "limits", "zkr_election *": "election", "zkr_leadership *": "leadership", "zkr_queue *": "queue", "zkr_item *": "item",
    "zkr_two_phase_commit *": "payments", "zkr_proposal *": "proposal", "zkr_part_results *": "results", "const char *": "order payload data",
    "size_t ": "size length", "int64_t ": "number", "int32_t ": "version", "bool ": "was_set exists", "zkr_outcome ": "outcome", "sigset_t ": "signals",
    "zkr_registration *": "registration", "zkr_instances *": "picked", "zkr_node_cache *": "flags",
    "struct daemon ": "daemon",
}  # fmt: skip
CPP = """
#include <zkrecipes.hpp>
#include <zkrecipes_testing.hpp>
#include <csignal>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <thread>
using namespace std::chrono_literals;
struct Worker { void start(zkr::Leadership) {} };
"""


def c(part: Snippet) -> str:
    """Functions and declarations stand where they are; statements are put into a function."""
    outside: list[str] = []
    inside: list[str] = []
    for paragraph in re.split(r"\n\n", part.text):
        (outside if re.match(r"(static|struct|typedef|#)", paragraph) else inside).append(paragraph)
    kinds = dict(C_LOCALS)
    known = "\n\n".join(outside + inside)
    if "zkr_double_barrier_" in known:
        kinds["zkr_double_barrier *"] = "barrier"
    elif "zkr_barrier_" in known:
        kinds["zkr_barrier *"] = "barrier"
    if "zkr_transaction_" in known or "zkr_nodes_transaction" in known:
        kinds["zkr_transaction *"] = "transaction"
    elif "zkr_commit_transaction_" in known:
        kinds["zkr_commit_transaction *"] = "transaction"
    # What the part makes itself, and does not declare.
    listed = {name for names in kinds.values() for name in names.split()}
    for kind, name in re.findall(r"\bzkr_(\w+)_new\([^;]*?&(\w+), &error\)", known):
        if name not in listed:
            kinds[f"zkr_{kind} *"] = f"{kinds.get(f'zkr_{kind} *', '')} {name}".strip()
    declared = [
        f"{kind}{name};"
        for kind, names in kinds.items()
        for name in names.split()
        if not re.search(rf"[\w*] \*?{name} ?(=|;|\[)", known)
    ]
    stubs = [f"ANY({name}) {{ return 0; }}" for name in THEIRS if re.search(rf"\b{name}\b", known)]
    labels = [f"{label}:;" for label in ("fail", "busy") if f"goto {label};" in known and f"\n{label}:" not in known]
    if re.search(r"\bqueue_options|zkr_options options", known) is None and "&options" in known:
        declared.append("zkr_options options = ZKR_OPTIONS_INIT;")
    return (
        "\n".join(
            [
                C,
                "struct daemon { int any; };",
                *stubs,
                *outside,
                "void part(zkr_client *client, zkr_error *error) {",
                *declared,
                *inside,
                *labels,
                "}",
            ]
        )
        + "\n"
    )


def cpp(parts: list[Snippet]) -> str:
    """All of them in one file: the header takes its time."""
    texts = [CPP, *sorted({line for part in parts for line in part.text.splitlines() if line.startswith("#include")})]
    for number, part in enumerate(parts):
        if part.is_whole:
            body = re.sub(r"^#include.*$", "", part.text, flags=re.MULTILINE).replace("int main()", "int program()")
            texts += [f"namespace part_{number} {{", f'#line {part.line + 1} "{part.page}"', body, "}"]
            continue
        stubs = [
            f"template <class... Any> bool {name}(Any &&...) {{ return true; }}"
            for name in THEIRS
            if f"{name}(" in part.text and name != "apply"
        ]
        # Or std::apply is meant.
        stubs += [
            "void apply(const std::string &, zkr_outcome) {}",
            "void apply(const std::optional<zkr::Versioned> &) {}",
        ]
        client = "" if "zkr::Client client(" in part.text else "zkr::Client &client"
        values = [f"std::string {name};" for name in ("order", "payload") if re.search(rf"\b{name}\b", part.text)]
        values += ["Worker worker;"] * ("worker." in part.text) + ["sigset_t signals;"] * ("&signals" in part.text)
        if "lock." in part.text and " lock = " not in part.text:
            values.append('zkr::Lock lock = client.lock("/any");')
        texts += [
            f"namespace part_{number} {{",
            *stubs,
            f"void part({client}) {{",
            *values,
            f'#line {part.line + 1} "{part.page}"',
            part.text,
            "}",
            "}",
        ]
    return "\n".join(texts) + "\n"


PYTHON = """
from __future__ import annotations
import asyncio, json, logging, os, signal, sys, threading
from typing import Any
import zkrecipes
import zkrecipes.otel
from zkrecipes import aio
"""


def python(parts: list[Snippet]) -> str:
    """All of them in one file, since the checker takes its time to begin."""
    texts = [PYTHON]
    for part in parts:
        awaits = bool(
            re.search(r"\bawait\b|\basync (with|for)\b", re.sub(r"async def [\s\S]*?(?=\n\S|\Z)", "", part.text))
        )
        client = "aio.Client" if re.search(r"\bawait\b|\basync\b", part.text) else "zkrecipes.Client"
        names = [
            name
            for name in ("client",)
            if not re.search(r"^client\b.*=|as client|^import zkrecipes$", part.text, re.MULTILINE)
        ]
        texts.append(
            f"# {part}\n{'async ' if awaits else ''}def part_{part.line}_{abs(hash(part.page))}({', '.join(f'{name}: {client}' for name in names)}):"
        )
        texts += ["    " + line if line else "" for line in part.text.splitlines()] + ["    ...", ""]
    return "\n".join(texts)


def node(part: Snippet) -> str:
    declared = []
    for name, kind in {
        "client": "import('zkrecipes').Client", "signal": "AbortSignal", "url": "string", "lock": "import('zkrecipes').Lock", "held": "import('zkrecipes').Held",
        "version": "number",
    }.items():  # fmt: skip
        own = rf"^(const|let|import).*\b{name}\b.*(=|from)"
        if re.search(rf"\b{name}\b", part.text) and not re.search(own, part.text, re.MULTILINE):
            declared.append(f"declare const {name}: {kind}")
    # The elements of a destructured list are names, too.
    text = re.sub(r"\{ … \}", "{}", part.text).replace("{ …; ", "{ ")
    return "\n".join([*declared, text, "export {}"]) + "\n"


RUST = """
#![allow(warnings)]
use std::time::Duration;
use zkrecipes::*;
"""
RUST_VALUES = {
    "lock": "Lock",
    "held": "Held",
    "election": "Election",
    "order": "Vec<u8>",
    "data": "Vec<u8>",
    "payload": "&[u8]",
    "limit": "Duration",
    "hour": "Duration",
    "nodes": "Nodes",
    "barrier": "DoubleBarrier",
}


def rust_stub(name: str, text: str) -> str:
    """A function of the reader's own, as this part calls it."""
    call = re.search(rf"\b{name}\(", text)
    assert call
    depth, arguments, end = 1, 0, call.end()
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        arguments += depth == 1 and text[end] == ","
        end += 1
    empty = not text[call.end() : end - 1].strip()
    letters = [] if empty else [f"A{number}" for number in range(arguments + 1)]
    kinds, places = f"<{', '.join(letters)}>" if letters else "", ", ".join(f"_: {one}" for one in letters)
    after, before = text[end : end + 7], text[: call.start()]
    if before.endswith("match "):
        return f"async fn {name}{kinds}({places}) -> bool {{ true }}"
    if after.startswith(".await?") or before.endswith("| "):
        return f"async fn {name}{kinds}({places}) -> Result<()> {{ Ok(()) }}"
    if after.startswith(".await") or before.endswith((".run(", "_ = ")):
        return f"async fn {name}{kinds}({places}) {{}}"
    return f"fn {name}{kinds}({places}) {{}}"


def rust(parts: list[Snippet]) -> str:
    texts = [RUST]
    for number, part in enumerate(parts):
        names = [name for name in [*THEIRS, "remove"] if re.search(rf"(?<![.\w]){name}\(", part.text)]
        given = [
            f"{name}: {kind}"
            for name, kind in RUST_VALUES.items()
            if re.search(rf"(?<![.\w]){name}\b", part.text) and f"let {name}" not in part.text
        ]
        client = [] if "let client" in part.text else ["client: Client"]
        texts += [f"mod part_{number} {{ // {part}", "use super::*;", *(rust_stub(name, part.text) for name in names)]
        texts += [f"async fn part({', '.join(client + given)}) -> Result<()> {{", part.text, "Ok(()) }", "}"]
    return "\n".join(texts) + "\n"
