#!/usr/bin/env python3
"""Writes the tables of docs/options.md from the sources, and that of docs/README.md from README.md.

docs/site/tables.py --write      writes them
docs/site/tables.py              fails if one is out of date (tests/docs/test_docs.py does the same)

What an option means is told once, by the core's documentation or below. Its name and its default in a language are read
from that language's own sources, so that neither can say what is not so.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from pages import recipes

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(r"(<!-- table: ([\w+-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

# The structs of options, as the core calls them; where in the options of the client the nested ones are.
STRUCTS = {
    "ClientOptions": "client",
    "TlsOptions": "client tls",
    "SaslOptions": "client sasl",
    "RetryOptions": "client retry",
    "LockOptions": "lock",
    "ElectionOptions": "election",
    "GroupOptions": "group",
    "CounterOptions": "counter",
    "QueueOptions": "queues",
}
TIMES = {"server_tick", "session_timeout", "connect_timeout", "retry.base", "retry.max", "retry.give_up_after"}
NESTED = {"tls", "sasl", "retry"}
# Where the core's sentence is about Rust, or says less than a reader of the table needs.
MEANING = {
    "session_timeout": "How long the servers keep the session of a client that they do not hear from. After that, what it held is free for others. The servers may "
    "grant more or less: `client.session_timeout` tells",
    "connect_timeout": "How long connecting may take before `ConnectionLost`",
    "auth": "Credentials to present to the servers: a scheme such as `digest`, and a credential such as `user:password`",
    "acl": "Who may touch the nodes that we create: everybody (*open*), whoever presents the same credentials (*creator*), or a list of scheme, id and "
    "letters of `rwcda`. By default *creator* if credentials are given, else *open*",
    "tls": "TLS towards the servers",
    "sasl": "SASL towards the servers, with DIGEST-MD5",
    "sasl.user": "Who we are",
    "sasl.password": "How we prove it; it does not travel itself",
    "naming": "Whose node names to use, so that others on the same path take part: Curator's (*curator*), kazoo's (*kazoo*), or those of the recipes that ship with ZooKeeper "
    "(*zookeeper*)",
    "lease": "What the heartbeat of a holder proves. *strict*: that a majority of the servers still honours the session. *relaxed*: less, for less work of the "
    "servers; for a few seconds around a partition two clients may both believe that they hold",
    "server_tick": "The largest `tickTime` of every server that may lead; doubled for clients of an observer that follows a follower (`observerMasterPort`). With a quarter "
    "of the session timeout or less, a pause of half of that costs nothing that is held; without it, of three tenths. `zkrecipes doctor` says what to give",
    "read_only": "Accept a server that has lost its majority and only reads",
    "retry": "How calls try again when the connection breaks",
    "retry.base": "The first pause before a call tries again",
    "retry.max": "The longest pause; pauses double up to it",
    "retry.give_up_after": "How long a call goes without a server before `ConnectionLost`; `connect_timeout` if it is not given",
    "lock.local_handoff": "How many times waiters of one client may pass the turn on in memory before others get theirs. They then share a fencing token, and only the pair "
    "of token and `passes` rises strictly",
    "group.layout": "Whose group it takes part in: Curator's `GroupMember` (*member*), kazoo's `Party` (*party*) or `ShallowParty` (*shallow_party*). By default *party* where "
    "`naming` is kazoo's, else *member*",
    "election.layout": "Whose election it takes part in: Curator's `LeaderLatch` (*latch*) or `LeaderSelector` (*selector*). kazoo has one layout of its own, which `naming` chooses",
    "counter.layout": "Whose counter it takes part in: Curator's `DistributedAtomicLong`, 64 bits (*atomic*), or `SharedCount`, 32 bits (*shared*). kazoo has one layout of its "
    "own, which `naming` chooses",
    "queues.layout": "Whose queue it takes part in: Curator's `SimpleDistributedQueue` and ZooKeeper's own, or kazoo's `Queue` where `naming` is kazoo's (*simple*); Curator's "
    "`DistributedQueue` (*distributed*); kazoo's `LockingQueue` (*locking*). Priority and delay queues have one layout with each naming",
    "queues.max_attempts": "How often an item is claimed before it goes to the dead letters, 16 times unless told; 0 for no end",
    "queues.max_items": "How many items there may be; without it there is no bound. All who put have to give the same number; a full queue makes them wait",
}
# What one language has in addition.
EXTRA = {
    "Node": {
        "signal": (
            "client",
            "none",
            "AbortSignal",
            "Aborting it ends the attempt to connect; once connected, it has no effect",
        )
    },
    "asyncio": {},
}


@dataclass
class Option:
    """An option as one language writes it. `key` is what the core calls it, behind its recipe if it is no client's."""

    key: str
    name: str
    default: str
    of: str


def key(of: str, name: str) -> str:
    parts = of.split()
    return name if of == "client" else f"{parts[-1]}.{name}"


def source(path: str) -> str:
    return (ROOT / path).read_text()


def flat(text: str) -> str:
    text = re.sub(r"\[(`[^`]+`)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return text.removesuffix(".").replace("|", r"\|")


def block(text: str, opening: str) -> str:
    """What stands between the braces behind an opening."""
    at = text.index(opening) + len(opening)
    depth, begin = 0, text.index("{", at - 1) if "{" not in opening else at - 1
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin + 1 : place]
    raise ValueError(opening)


# --- each language


def rust() -> tuple[list[Option], dict[str, str]]:
    """The options of the core, and what each means."""
    text = "".join(source(f"core/src/options{name}.rs") for name in ("", "/recipe_options", "/credentials"))
    options, meanings = [], {}
    for struct, of in STRUCTS.items():
        defaults = {}
        if f"impl Default for {struct} " in text:
            inside = block(text, f"impl Default for {struct} {{")
            inside = block(inside, f"{struct} {{")
            defaults = dict(re.findall(r"(\w+): ([^,]+(?:\([^)]*\))?),?", " ".join(inside.split())))
        for doc, name, kind in re.findall(
            r"((?:    ///.*\n)*)    pub (\w+): ([^\n]+),\n", block(text, f"pub struct {struct} {{")
        ):
            default = defaults.get(name.strip(), "")
            default = re.sub(r"Duration::from_secs\((\d+)\)", r"\1 s", default)
            default = re.sub(r"Duration::from_millis\((\d+)\)", r"\1 ms", default)
            if kind.startswith("Option"):
                default = "`None`"
            elif kind.startswith("Vec"):
                default = "empty"
            elif default in ("true", "false") or (not default and kind == "bool"):
                default = f"`{default or 'false'}`"
            elif not default and kind == "u32":
                default = "`0`"
            elif default.endswith("::default()") or (not default and kind[0].isupper() and kind != "String"):
                default = first_variant(text, kind)
            elif default:
                default = f"`{default}`" if "::" in default or default.isdigit() else default
            one = Option(key(of, name), f"{of.split()[1]}.{name}" if " " in of else name, default or "needed", of)
            options.append(one)
            meanings[one.key] = flat(doc.replace("///", " "))
    return options, meanings


def first_variant(text: str, kind: str) -> str:
    if kind == "RetryOptions":
        return "the next rows"
    found = re.search(r"#\[default\]\s+(\w+)", block(text, f"pub enum {kind} {{"))
    assert found, kind
    return f"`{kind}::{found[1]}`"


def python() -> list[Option]:
    options = []
    for node in ast.parse(source("python/zkrecipes/_values.py")).body:
        if isinstance(node, ast.ClassDef) and node.name in STRUCTS:
            of = STRUCTS[node.name]
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    name = item.target.id
                    written = f'{of.split()[1]}["{name}"]' if " " in of else name
                    options.append(Option(key(of, name), written, "", of))
    tree = ast.parse(source("python/zkrecipes/_native.pyi"))
    client = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ClientBase")
    recipes = {"lock": "lock", "election": "election", "group": "group", "counter": "counter", "queue": "queues"}
    for verb in client.body:
        if isinstance(verb, ast.FunctionDef) and verb.name in recipes:
            of = recipes[verb.name]
            for argument, default in zip(verb.args.kwonlyargs, verb.args.kw_defaults, strict=True):
                assert default is not None
                options.append(Option(f"{of}.{argument.arg}", argument.arg, f"`{ast.unparse(default)}`", of))
    return options


def camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)


def node() -> list[Option]:
    options = []
    files = {"client": ("client", "ConnectOptions"), "lock": ("lock", "LockOptions"), "election": ("election", "ElectionOptions"),
             "group": ("group", "GroupOptions"), "counter": ("counter", "CounterOptions"), "queues": ("queue", "QueueOptions")}  # fmt: skip
    for of, (file, interface) in files.items():
        inside = block(source(f"node/lib/{file}.d.cts"), f"export interface {interface} {{")
        inside = re.sub(r"/\*\*.*?\*/", "", inside, flags=re.DOTALL)
        for name in re.findall(r"^  (\w+)\??:", inside, re.MULTILINE):
            options.append(Option(key(of, snake(name)), name, "", of))
            if name in NESTED:
                nested = re.search(rf"^  {name}\?:\s*(?:\|\s*)?\{{([^}}]*)\}}", inside, re.MULTILINE)
                assert nested, name
                for part in re.findall(r"(\w+)\??:", nested[1]):
                    options.append(Option(f"{name}.{snake(part)}", f"{name}.{part}", "", f"client {name}"))
    return options


def fields(text: str, struct: str) -> list[str]:
    inside = re.sub(r"/\*.*?\*/", "", block(text, f"typedef struct {struct} {{"), flags=re.DOTALL)
    return re.findall(r"(\w+)(?:\[\d+\])?;", inside)


def c() -> list[Option]:
    text = source("include/zkrecipes.h")
    options = []
    for struct, of in {"zkr_options": "client", "zkr_lock_options": "lock", "zkr_election_options": "election",
                       "zkr_group_options": "group", "zkr_counter_options": "counter", "zkr_queue_options": "queues"}.items():  # fmt: skip
        macro = re.search(rf"#define {struct.upper()}_INIT[ \\\n]*\{{(.*?)\}}\s*\n\s*\n", text, re.DOTALL)
        assert macro, struct
        values = [value.strip() for value in macro[1].replace("\\\n", " ").split(",")]
        names = fields(text, struct)
        assert len(names) == len(values), struct
        for name, value in zip(names, values, strict=True):
            if name != "size" and not name.startswith("reserved"):
                canonical = name.removesuffix("_ms")
                for nested in NESTED:
                    canonical = re.sub(rf"^{nested}_", f"{nested}.", canonical)
                inner = f"client {canonical.split('.')[0]}" if "." in canonical else of
                options.append(Option(canonical if of == "client" else f"{of}.{canonical}", name, f"`{value}`", inner))
    return options


def cpp() -> list[Option]:
    text = source("include/zkrecipes.hpp")
    options = []
    for struct, of in {"Options": "client", "Tls": "client tls", "Sasl": "client sasl", "Retry": "client retry", "LockOptions": "lock",
                       "ElectionOptions": "election", "GroupOptions": "group", "CounterOptions": "counter", "QueueOptions": "queues"}.items():  # fmt: skip
        inside = block(text, f"struct {struct} {{")
        inside = re.sub(r"/\*.*?\*/", "", inside.split(" private:")[0], flags=re.DOTALL)
        for nested in re.findall(r"struct (\w+) \{", inside):
            inside = inside.replace(block(inside, f"struct {nested} {{"), "").replace(f"struct {nested} {{}};", "")
        for kind, names in re.findall(r"([\w:<>]+(?:<[^;]*?>)?) ([^;()]+);", inside):
            for one in re.split(r", (?=[a-z])", names):
                found = re.match(r"(\w+)\s*(?:=\s*(.+)|\{(.+)\})?\Z", one.strip())
                assert found, one
                name, default = found[1], found[2] or (found[3] or "").replace("'", "")
                if kind == "Milliseconds" and default:
                    default += "ms"
                if not default:
                    default = (
                        "none"
                        if "optional" in kind
                        else "empty"
                        if kind in ("std::string",) or "vector" in kind
                        else ""
                    )
                written = f"{of.split()[1]}{'.' if of.endswith('retry') else '->'}{name}" if " " in of else name
                options.append(
                    Option(
                        key(of, name), written, f"`{default}`" if default not in ("none", "empty", "") else default, of
                    )
                )
    return options


# --- the tables

BY_TIME = {
    "Python": ("seconds", 1.0),
    "Node": ("milliseconds", 1000.0),
    "C": ("milliseconds", 1000.0),
    "C++": ("`std::chrono`", 0),
    "Rust": ("`Duration`", 0),
}
KINDS = {
    "identity": "text", "auth": "pairs", "allow_plaintext_auth": "yes or no", "refuse_open_parents": "yes or no", "acl": "choice", "tls": "", "sasl": "", "naming": "choice", "lease": "choice",
    "retry": "", "read_only": "yes or no", "max_in_flight": "requests", "tls.ca": "file or PEM", "tls.cert": "file or PEM", "tls.key": "file or PEM", "tls.verify_hostname": "yes or no", "tls.allow_expired_crls": "yes or no",
    "sasl.user": "text", "sasl.password": "text", "lock.reentrant": "yes or no", "lock.local_handoff": "number", "election.layout": "choice",
    "group.layout": "choice", "counter.layout": "choice", "queues.max_items": "items", "queues.ephemeral": "yes or no", "queues.shards": "nodes",
    "queues.max_attempts": "claims", "queues.layout": "choice",
}  # fmt: skip
WORDS = {"open", "creator", "curator", "strict", "atomic", "latch", "simple"}


def plain_default(language: str, option: Option, core: dict[str, Option]) -> str:
    """The default in Python and Node, whose sources have it in the core alone."""
    of_core = core[option.key].default
    if option.key in TIMES and (found := re.fullmatch(r"(\d+) (s|ms)", of_core)):
        _, factor = BY_TIME[language]
        seconds = int(found[1]) / (1 if found[2] == "s" else 1000)
        value = seconds * factor
        return f"`{value:g}`" if language == "Python" else f"`{value:.0f}`"
    if option.key == "identity":
        return "`host:pid`"
    if option.key == "retry.give_up_after":
        return "`connect_timeout`" if language == "Python" else "`connectTimeout`"
    if option.key == "acl":
        return "by credentials"
    if option.key == "group.layout":
        return "by `naming`"
    if of_core in ("`None`", "empty"):
        return "none"
    if found := re.fullmatch(r"`\w+::(\w+)`", of_core):
        word = found[1].lower()
        return f'`"{word}"`' if language == "Python" else f"`'{word}'`"
    if of_core in ("`true`", "`false`") and language == "Python":
        return of_core.title()
    return of_core


def in_order(options: list[Option], keys: list[str]) -> list[Option]:
    """As the core has them, what is nested behind what it is in; an option that the core does not have stays where it is."""
    nested = [one for one in keys if one.split(".")[0] in NESTED and "." in one]
    order = []
    for one in keys:
        if one not in nested:
            order += [one, *(inner for inner in nested if inner.startswith(f"{one}."))]
    places, last = {}, 0.0
    for number, option in enumerate(options):
        last = order.index(option.key) if option.key in order else last + 0.1
        places[number] = last
    return [options[number] for number in sorted(places, key=lambda number: places[number])]


# Options that a language spreads over several fields, or has beside one of the core.
BESIDE = {
    "auth_count": ("number", "How many credentials there are at `auth`"),
    "acl_list": ("entries", "The entries, for `ZKR_ACL_LIST`"),
    "acl_count": ("number", "How many entries there are at `acl_list`"),
}
SPREAD = {"C": {"sasl", "retry"}, "C++": set(), "Python": set(), "Node": set(), "Rust": set()}


SPELLED = {
    "Node": {"client.session_timeout": "client.sessionTimeout", "ConnectionLost": "CONNECTION_LOST"},
    "C": {"client.session_timeout": "zkr_client_session_timeout", "ConnectionLost": "ZKR_CONNECTION_LOST"},
    "C++": {"client.session_timeout": "client.session_timeout()"},
    "Rust": {"client.session_timeout": "client.session_timeout()"},
    "Python": {},
}


def spelled(language: str, meaning: str, option: Option, names: dict[str, str]) -> str:
    """A meaning with the names that it mentions as a language writes them."""
    beside = option.key.rpartition(".")[0]

    def own(found: re.Match[str]) -> str:
        word = found[1]
        inner = names.get(f"{beside}.{word}") if language == "C" else None
        return f"`{SPELLED[language].get(word) or inner or names.get(word, word)}`"

    return re.sub(r"`([\w.]+)`", own, meaning)


def options_table(language: str) -> str:
    core_options, meanings = rust()
    core = {option.key: option for option in core_options}
    meanings.update(MEANING)
    unknown = set(MEANING) - set(core)
    assert not unknown, f"no options of the core: {unknown}"
    options = {"Rust": lambda: core_options, "Python": python, "Node": node, "C": c, "C++": cpp}[language]()
    has = {option.key for option in options}
    missing = set(core) - has - SPREAD[language]
    assert not missing, f"{language} lacks {missing}"
    names = {option.key: option.name for option in options}
    lines = ["| of | option | default | unit | meaning |", "|---|---|---|---|---|"]
    for option in in_order(options, list(core)):
        if option.key not in core:
            if option.key in BESIDE:
                kind, meaning = BESIDE[option.key]
            else:
                _, default, kind, meaning = EXTRA[language][option.key]
                option.default = default
            lines.append(f"| {option.of} | `{option.name}` | {option.default} | {kind} | {meaning} |")
            continue
        kind = BY_TIME[language][0] if option.key in TIMES else KINDS[option.key]
        # A keyword of Python has its default in its own signature, which has to be the core's.
        default = option.default
        if language in ("Python", "Node"):
            wanted = plain_default(language, option, core)
            same = default.replace("'", '"') in ("", wanted) or default == "`None`"
            assert same, f"{language}: {option.name} is {default}, and {wanted} in the core"
            default = wanted
        lines.append(
            f"| {option.of.split()[0]} | `{option.name}` | {default or ('the next rows' if option.key == 'retry' else 'needed')} | {kind or ('yes or no' if language == 'C' else 'the next rows')} | {spelled(language, meanings[option.key], option, names)} |"
        )
    return "\n".join(lines) + "\n"


TABLES = {
    "recipes": lambda: "\n".join(["| | what for |", "|---|---|", *recipes()[0]]) + "\n",
    "options-rust": lambda: options_table("Rust"),
    "options-python": lambda: options_table("Python"),
    "options-node": lambda: options_table("Node"),
    "options-c": lambda: options_table("C"),
    "options-c++": lambda: options_table("C++"),
}


def with_tables(text: str) -> str:
    return MARK.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n{found[4]}", text)


def stale(write: bool = False) -> list[str]:
    """The pages whose tables are not what the sources say."""
    found = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text()
        if "node_modules" in page.parts or (new := with_tables(text)) == text:
            continue
        found.append(page.relative_to(ROOT).as_posix())
        if write:
            page.write_text(new)
    return found


if __name__ == "__main__":
    changed = stale(write="--write" in sys.argv)
    if changed and "--write" not in sys.argv:
        sys.exit(f"out of date: {', '.join(changed)}; docs/site/tables.py --write")
