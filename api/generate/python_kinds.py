"""What a type of argument or answer means in Python: for type checkers, and in the Rust of the native module."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Argument:
    """An argument for type checkers and its default; how the native module reads and lends it."""

    type: str
    read: str
    lend: str = "{n}"
    default: str = ""
    # What type checkers are told instead, if it stands for several that have to be named.
    several: str = ""


def word(*choices: str) -> str:
    return "Literal[{}]".format(", ".join(f'"{choice}"' for choice in choices))


def maybe(read: str) -> str:
    return f"{{n}}.map(|{{n}}| {read}).transpose()?"


ARGUMENTS = {
    "text": Argument("str", 'convert::text("{n}", {n})?', "&{n}"),
    "text?": Argument("str | None", maybe('convert::text("{n}", {n})'), "{n}.as_deref()", "None"),
    "text_or_empty": Argument("str", '{n}.map_or(Ok(String::new()), |{n}| convert::text("{n}", {n}))?', "&{n}", '""'),
    "contender": Argument(
        "str | Contender | None",
        maybe('convert::contender_node("{n}", {n})'),
        "{n}.as_deref()",
        "None",
    ),
    "candidate": Argument("str | Contender", 'convert::contender_node("{n}", {n})?', "&{n}"),
    "bytes": Argument("bytes | str", 'convert::payload("{n}", {n})?', "&{n}"),
    "bytes_or_empty": Argument("bytes | str", "convert::payload_or_empty({n})?", "&{n}", 'b""'),
    "many": Argument("Iterable[bytes | str]", 'convert::payloads("{n}", {n})?'),
    "texts": Argument("Iterable[str]", 'convert::texts("{n}", {n})?', "&{n}"),
    "partitions": Argument("int | Iterable[str]", 'convert::partitions("{n}", {n})?'),
    "claimed": Argument("Iterable[Item]", 'item::several("{n}", {n})?'),
    "limit": Argument("float | None", 'convert::limit("{n}", {n})?', default="None"),
    "patience": Argument("float | None", 'convert::patience("{n}", {n})?', default="None"),
    "delay": Argument("float", 'convert::duration("{n}", {n})?'),
    "pause": Argument("float | None", maybe('convert::duration("{n}", {n})'), default="None"),
    "version": Argument("int | None", 'convert::version("{n}", {n})?', default="None"),
    "i32?": Argument("int | None", maybe('convert::signed("{n}", {n})'), default="None"),
    "i32": Argument("int", 'convert::signed("{n}", {n})?'),
    "i64": Argument("int", 'convert::long("{n}", {n})?'),
    "count": Argument("int", 'convert::permits("{n}", {n})?'),
    "count_or_one": Argument("int", 'convert::permits_or("{n}", {n}, 1)?', default="1"),
    "bool": Argument("bool", 'convert::flag("{n}", {n})?'),
    "yes": Argument("bool", 'convert::flag_or("{n}", {n}, true)?', default="True"),
    "no": Argument("bool", 'convert::flag_or("{n}", {n}, false)?', default="False"),
    # The mode of a node is made of the two together.
    "mode": Argument("_CreateMode", "convert::create_mode({n}, ttl)?", default='"persistent"'),
    "ttl": Argument("float | None", "", default="None"),
    "watch_kind": Argument(word("data", "children", "subtree"), 'convert::word_or("{n}", {n})?', default='"data"'),
    "service": Argument("Service", "services::service({n})?"),
    "changed_service": Argument("Service | None", "{n}.map(services::service).transpose()?", default="None"),
    "service_changes": Argument(
        "",
        "services::changed(&slf.get().core, service, {n})?",
        several="*, address: str = ..., port: int | None = ..., ssl_port: int | None = ..., payload: Any = ..., "
        "uri_spec: str | None = ..., enabled: bool = ...",
    ),
    "pick_by": Argument(
        word("round_robin", "random", "sticky"), 'convert::word_or("{n}", {n})?', default='"round_robin"'
    ),
    "commit_mode": Argument(word("coordinator", "peer"), 'convert::word_or("{n}", {n})?', default='"coordinator"'),
}


@dataclass(frozen=True)
class Answer:
    """An answer for type checkers, and what the native module makes of the core's, if it is no plain value."""

    type: str
    made: str = ""


# Of these asyncio has classes of its own.
OBJECTS = {
    "item": Answer("Item", "item::claimed(py, origin, answer)"),
    "items": Answer("list[Item]", "list(py, answer, |one| item::claimed(py, origin.clone(), one))"),
    "transaction": Answer("Transaction", "TransactionBase::of(py, {origin}, {answer})"),
    "queue": Answer("DeadLetters", "DeadLettersBase::of(py, {origin}, {answer})"),
    "commit_transaction": Answer(
        "CommitTransaction", "CommitTransactionBase::of(py, &origin, answer.hand_over().into())"
    ),
    "commit_transactions": Answer(
        "list[CommitTransaction]", "list(py, answer, |one| CommitTransactionBase::of(py, &origin, one.into()))"
    ),
    "proposal": Answer("Proposal", "ProposalBase::of(py, &origin, answer.hand_over().into())"),
    "proposals": Answer("list[Proposal]", "list(py, answer, |one| ProposalBase::of(py, &origin, one.into()))"),
    "node_cache": Answer("NodeCache", "NodeCacheBase::of(py, &origin, answer)"),
    "registration": Answer("Registration", "RegistrationBase::of(py, &origin, answer.hand_over())"),
    "held": Answer("Held"),
    "partition": Answer("Held", "held::partition(py, origin, answer)"),
    "leadership": Answer("Leadership"),
}
ANSWERS = OBJECTS | {
    "": Answer("None"),
    "i32": Answer("int"),
    "i64": Answer("int"),
    "count": Answer("int"),
    "bool": Answer("bool"),
    "stat": Answer("Stat"),
    "text": Answer("str"),
    "bytes": Answer("bytes"),
    "bytes_or_none": Answer("bytes | None"),
    "strings": Answer("list[str]"),
    "entries": Answer("dict[str, bytes]"),
    "owners": Answer("dict[str, str | None]"),
    "weights": Answer("dict[str, int]"),
    "instances": Answer("list[Instance]"),
    "service": Answer("Service"),
    "contenders": Answer("list[Contender]"),
    "part_results": Answer("list[str | Stat | None]"),
    "leader": Answer("Leader | None"),
    "payloads": Answer("list[bytes]"),
    "dead_letters": Answer("list[DeadLetter]"),
    "queue_stats": Answer("QueueStats"),
    "outcome": Answer(word("commit", "abort")),
    "commit_statuses": Answer("list[CommitStatus]"),
}


@dataclass(frozen=True)
class Property:
    """What is asked no server: for type checkers, in Rust, and what makes that of the core's."""

    type: str
    rust: str
    made: str = "{call}"


PROPERTIES = {
    "bool": Property("bool", "bool"),
    "u32": Property("int", "u32"),
    "u64": Property("int", "u64"),
    "count": Property("int", "usize"),
    "path": Property("str", "&str"),
    "text": Property("str", "&str"),
    "data": Property("bytes", "Bound<'py, PyBytes>", "PyBytes::new(py, {call})"),
    "strings": Property("list[str]", "Vec<String>", "{call}.to_vec()"),
    "commit_mode": Property(word("coordinator", "peer"), "&'static str", "{call}.name()"),
}

# What a feed tells.
STREAMS = {
    "versioned": "Versioned | None",
    "entries": "dict[str, bytes]",
    "owners": "dict[str, str | None]",
    "group": "GroupEvent",
    "leader": "Leader | None",
    "node": "Any",
    "number": "int",
    "instances": "list[Instance]",
    "strings": "list[str]",
}
# What a callback is told.
TELLS = {"lost": "[Lost]", "revoke": "[]", "wait": "[WaitProgress]"}
