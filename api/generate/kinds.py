"""What a type of argument, answer or callback means in each language: once for all verbs.

How it is checked and copied is in ffi/src/input.rs, how it is handed over in ffi/src/answers.rs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


# --- types of arguments


@dataclass(frozen=True)
class Input:
    """An argument in C, how Rust reads (empty: as it is) and lends it; in C++, and how that gives it to C; in Rust."""

    c: str
    read: str = ""
    lend: str = "{n}"
    cpp: str = ""
    give: str = "{n}"
    # What C++ does before the call.
    before: str = ""
    rust: str = ""
    # What blocking Rust keeps for the time of the call (empty: it is copied), and gives to a method that keeps nothing.
    own: str = ""
    hand: str = "{n}"

    def of(self, recipe: str) -> Input:
        """The argument of a verb of this recipe, for types that each recipe has of its own."""
        words = {"{of}": recipe, "{Of}": camel(recipe), "{OF}": recipe.upper()}
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        for word, text in words.items():
            parts = {part: said.replace(word, text) for part, said in parts.items()}
        return Input(**parts)


INPUTS = {
    "text": Input(
        "{n}: *const c_char",
        'input::text("{n}", {n})?',
        "&{n}",
        "const std::string &{n}",
        'detail::c_text("{n}", {n})',
        rust="&str",
        own="{n}.to_owned()",
    ),
    "text?": Input(
        "{n}: *const c_char",
        'input::optional_text("{n}", {n})?',
        "{n}.as_deref()",
        'const std::string &{n} = ""',
        'detail::c_text_if_any("{n}", {n})',
        rust="Option<&str>",
        own="{n}.map(str::to_owned)",
    ),
    "bytes": Input(
        "{n}: *const c_void, size: usize",
        'input::bytes("{n}", {n}, size)?',
        "&{n}",
        "const std::string &{n}",
        "{n}.data(), {n}.size()",
        rust="&[u8]",
        own="{n}.to_owned()",
    ),
    "limit": Input(
        "{n}: i64",
        'time::from_millis("{n}", {n})',
        cpp="Milliseconds {short} = forever",
        give="detail::wait_ms({short})",
        rust="Option<Duration>",
    ),
    "options": Input(
        "{n}: *const zkr_{of}_options",
        "options::read({n})?.convert()?",
        cpp="const {Of}Options &{n} = {{}}",
        give="&given",
        before="const zkr_{of}_options given = {n}.convert();\n",
        rust="{Of}Options",
    ),
    "queue_options": Input(
        "{n}: *const zkr_queue_options",
        "options::read({n})?.convert()?",
        cpp="const QueueOptions &{n} = {{}}",
        give="&given",
        before="const zkr_queue_options given = {n}.convert();\n",
        rust="QueueOptions",
    ),
    "many": Input(
        "{n}: *const *const c_void, sizes: *const usize, count: usize",
        'input::many("{n}", {n}, sizes, count)?',
        cpp="const std::vector<std::string> &{n}",
        give="given.data(), given.sizes(), given.count()",
        before="const detail::Several given({n});\n",
    ),
    "texts": Input(
        "{n}: *const *const c_char, count: usize",
        'input::texts("{n}", {n}, count)?',
        "&{n}.iter().map(String::as_str).collect::<Vec<_>>()",
        "const std::vector<std::string> &{n}",
        "given.data(), given.count()",
        'const detail::Texts given("{n}", {n});\n',
    ),
    "partitions": Input(
        "{n}: *const *const c_char, count: usize",
        'input::partitions("{n}", {n}, count)?',
        cpp="const Partitions &{n}",
        give="{n}.data(), {n}.count()",
        rust="impl Into<Partitions>",
    ),
    "claimed": Input(
        "{n}: *const *mut zkr_item, count: usize",
        'items::claimed("{n}", {n}, count)?',
        cpp="const std::vector<Item> &{n}",
        give="given.data(), given.size()",
        before="const std::vector<zkr_item *> given = detail::handles<zkr_item>({n});\n",
    ),
    "pause": Input(
        "{n}: i64",
        'time::from_millis("{n}", {n})',
        cpp="std::optional<Milliseconds> {short} = std::nullopt",
        give='detail::pause_ms("{short}", {short})',
    ),
    "delay": Input(
        "{n}: i64", 'input::millis("{n}", {n})?', cpp="Milliseconds {short}", give="{short}.count()", rust="Duration"
    ),
    "transaction": Input(
        "{n}: *mut zkr_transaction",
        "verbs::get::<TransactionHandle>({n})?",
        "&{n}.core",
        "const Transaction &{n}",
        "{n}.get()",
        rust="&Transaction",
        hand="&{n}.core",
    ),
    "version": Input("{n}: i32", "input::version({n})?", cpp="std::int32_t {n} = -1", rust="Option<i32>"),
    "mode": Input(
        "{n}: GivenCreateMode", "nodes::mode({n})?", cpp="CreateMode {n} = CreateMode::Persistent", rust="CreateMode"
    ),
    "watch_kind": Input("{n}: GivenWatchKind", "nodes::watch_kind({n})?", cpp="WatchKind {n}", rust="WatchKind"),
    "commit_mode": Input(
        "{n}: GivenCommitMode", "commits::mode({n})?", cpp="CommitMode {n} = CommitMode::Coordinator", rust="CommitMode"
    ),
    "service": Input(
        "{n}: *const zkr_service",
        "services::service({n})?",
        cpp="const Service &{n}",
        give="&given",
        before="const zkr_service given = detail::given({n});\n",
        rust="Service",
    ),
    "changed_service": Input(
        "{n}: *const zkr_service",
        "services::changed(&core, {n})?",
        cpp="const Service &{n}",
        give="&given",
        before="const zkr_service given = detail::given({n});\n",
        rust="Service",
    ),
    "pick_by": Input(
        "{n}: GivenPickBy", "services::pick_by({n})?", cpp="PickBy {n} = PickBy::RoundRobin", rust="PickBy"
    ),
    "count": Input("{n}: usize", 'input::count("{n}", {n})?', cpp="std::size_t {n}", rust="usize"),
    "count_or_one": Input("{n}: usize", 'input::count("{n}", {n})?', cpp="std::size_t {n} = 1", rust="usize"),
    "i32": Input("{n}: i32", cpp="std::int32_t {n}", rust="i32"),
    "u64": Input("{n}: u64", cpp="std::uint64_t {n}", rust="u64"),
    "i64": Input("{n}: i64", cpp="std::int64_t {n}", rust="i64"),
    "bool": Input("{n}: bool", cpp="bool {n}", rust="bool"),
}


# --- types of answers


@dataclass(frozen=True)
class Output:
    """An answer's place in C, the callback that gets it, the variable that C++ gives for it and what that becomes; its
    type in Rust, and what makes that of blocking Rust of it where it is one of its own."""

    c: str
    callback: str = ""
    variable: str = ""
    cpp: str = ""
    take: str = "{n}"
    rust: str = ""
    wrap: str = ""

    @property
    def place(self) -> str:
        return "HandlePlace" if self.c.startswith("*mut") else "Place"


OUTPUTS = {
    "i32": Output("i32", "zkr_number_callback", "std::int32_t {n} = 0", "std::int32_t", rust="i32"),
    "i64": Output("i64", "zkr_number_callback", "std::int64_t {n} = 0", "std::int64_t", rust="i64"),
    "u64": Output("u64", "", "std::uint64_t {n} = 0", "std::uint64_t", rust="u64"),
    "count": Output("usize", "zkr_number_callback", "std::size_t {n} = 0", "std::size_t", rust="usize"),
    "bool": Output("bool", "zkr_answer_callback", "bool {n} = false", "bool", rust="bool"),
    "whether": Output("bool", "zkr_stat_callback", "bool {n} = false"),
    "stat": Output("zkr_stat", "zkr_stat_callback", "Stat {n}", "Stat", rust="Stat"),
    "queue_stats": Output(
        "zkr_queue_counts", "zkr_queue_counts_callback", "QueueStats {n}", "QueueStats", rust="QueueStats"
    ),
    "text": Output(
        "*mut zkr_buffer",
        "zkr_buffer_callback",
        "zkr_buffer *{n} = nullptr",
        "std::string",
        "detail::bytes({n})",
        rust="String",
    ),
    "bytes": Output(
        "*mut zkr_buffer",
        "zkr_buffer_callback",
        "zkr_buffer *{n} = nullptr",
        "std::string",
        "detail::bytes({n})",
        rust="Vec<u8>",
    ),
    "entries": Output(
        "*mut zkr_entries",
        "zkr_entries_callback",
        "zkr_entries *{n} = nullptr",
        "std::map<std::string, std::string>",
        "detail::entries({n})",
        rust="BTreeMap<String, Vec<u8>>",
    ),
    "bytes_or_none": Output(
        "*mut zkr_buffer",
        "zkr_buffer_callback",
        "zkr_buffer *{n} = nullptr",
        "std::optional<std::string>",
        "{n} ? std::optional<std::string>(detail::bytes({n})) : std::nullopt",
        rust="Option<Vec<u8>>",
    ),
    "strings": Output(
        "*mut zkr_strings",
        "zkr_strings_callback",
        "zkr_strings *{n} = nullptr",
        "std::vector<std::string>",
        "detail::strings({n})",
        rust="Vec<String>",
    ),
    "contenders": Output(
        "*mut zkr_contenders",
        "zkr_contenders_callback",
        "zkr_contenders *{n} = nullptr",
        "std::vector<Contender>",
        "detail::contenders({n})",
        rust="Vec<Contender>",
    ),
    "part_results": Output(
        "*mut zkr_part_results",
        "zkr_part_results_callback",
        "zkr_part_results *{n} = nullptr",
        "std::vector<PartResult>",
        "detail::part_results({n})",
        rust="Vec<PartResult>",
    ),
    "leadership": Output(
        "*mut zkr_leadership",
        "zkr_leadership_callback",
        "zkr_leadership *{n} = nullptr",
        "Leadership",
        "Leadership({n})",
    ),
    "leader": Output(
        "*mut zkr_leader",
        "zkr_leader_callback",
        "zkr_leader *{n} = nullptr",
        "std::optional<Leader>",
        "detail::leader({n})",
        rust="Option<Leader>",
    ),
    "payloads": Output(
        "*mut zkr_payloads",
        "zkr_payloads_callback",
        "zkr_payloads *{n} = nullptr",
        "std::vector<std::string>",
        "detail::payloads({n})",
        rust="Vec<Vec<u8>>",
    ),
    "dead_letters": Output(
        "*mut zkr_dead_letters",
        "zkr_dead_letters_callback",
        "zkr_dead_letters *{n} = nullptr",
        "std::vector<DeadLetter>",
        "detail::dead_letters({n})",
    ),
    "item": Output("*mut zkr_item", "zkr_item_callback", "zkr_item *{n} = nullptr", "Item", "Item({n})"),
    "items": Output(
        "*mut zkr_items",
        "zkr_items_callback",
        "zkr_items *{n} = nullptr",
        "std::vector<Item>",
        "detail::items({n})",
    ),
    "outcome": Output(
        "zkr_outcome",
        "zkr_outcome_callback",
        "zkr_outcome {n} = ZKR_OUTCOME_NONE",
        "Decision",
        "Decision({n})",
        rust="Outcome",
    ),
    "commit_transaction": Output(
        "*mut zkr_commit_transaction",
        "zkr_commit_transaction_callback",
        "zkr_commit_transaction *{n} = nullptr",
        "CommitTransaction",
        "CommitTransaction({n})",
        rust="CommitTransaction",
        wrap="CommitTransaction::of",
    ),
    "commit_transactions": Output(
        "*mut zkr_commit_transactions",
        "zkr_commit_transactions_callback",
        "zkr_commit_transactions *{n} = nullptr",
        "std::vector<CommitTransaction>",
        "detail::commit_transactions({n})",
        rust="Vec<CommitTransaction>",
        wrap="|all| all.into_iter().map(CommitTransaction::of).collect()",
    ),
    "proposal": Output(
        "*mut zkr_proposal",
        "zkr_proposal_callback",
        "zkr_proposal *{n} = nullptr",
        "Proposal",
        "Proposal({n})",
        rust="Proposal",
        wrap="Proposal::of",
    ),
    "proposals": Output(
        "*mut zkr_proposals",
        "zkr_proposals_callback",
        "zkr_proposals *{n} = nullptr",
        "std::vector<Proposal>",
        "detail::proposals({n})",
        rust="Vec<Proposal>",
        wrap="|all| all.into_iter().map(Proposal::of).collect()",
    ),
    "commit_statuses": Output(
        "*mut zkr_commit_statuses",
        "zkr_commit_statuses_callback",
        "zkr_commit_statuses *{n} = nullptr",
        "std::vector<CommitStatus>",
        "detail::commit_statuses({n})",
        rust="Vec<CommitStatus>",
    ),
    "registration": Output(
        "*mut zkr_registration",
        "zkr_registration_callback",
        "zkr_registration *{n} = nullptr",
        "Registration",
        "Registration({n})",
        rust="Registration",
        wrap="Registration::of",
    ),
    "instances": Output(
        "*mut zkr_instances",
        "zkr_instances_callback",
        "zkr_instances *{n} = nullptr",
        "std::vector<Instance>",
        "detail::instances({n})",
        rust="Vec<Instance>",
    ),
    "service": Output(
        "*mut zkr_instances",
        "zkr_instances_callback",
        "zkr_instances *{n} = nullptr",
        "Service",
        "detail::service({n})",
        rust="Service",
    ),
    "node_cache": Output(
        "*mut zkr_node_cache",
        "zkr_node_cache_callback",
        "zkr_node_cache *{n} = nullptr",
        "NodeCache",
        "NodeCache({n})",
        rust="NodeCache",
        wrap="NodeCache::of",
    ),
    "queue": Output("*mut zkr_queue", "", "zkr_queue *{n} = nullptr", "Queue", "Queue({n})"),
    "requests": Output(
        "*mut zkr_test_requests",
        "",
        "zkr_test_requests *{n} = nullptr",
        "std::vector<testing::Request>",
        "detail::requests({n})",
    ),
    "held": Output(
        "*mut zkr_held",
        "zkr_held_callback",
        "zkr_held *{n} = nullptr",
        "Held",
        "Held({n})",
        rust="Held",
        wrap="Held::of",
    ),
    "partition": Output(
        "*mut zkr_held",
        "zkr_held_callback",
        "zkr_held *{n} = nullptr",
        "Held",
        "Held({n})",
        rust="Held",
        wrap="Held::of",
    ),
    "owners": Output(
        "*mut zkr_entries",
        "zkr_entries_callback",
        "zkr_entries *{n} = nullptr",
        "std::map<std::string, std::optional<std::string>>",
        "detail::owners({n})",
        rust="BTreeMap<String, Option<String>>",
    ),
    "weights": Output(
        "*mut zkr_entries",
        "zkr_entries_callback",
        "zkr_entries *{n} = nullptr",
        "std::map<std::string, std::uint32_t>",
        "detail::weights({n})",
        rust="BTreeMap<String, u32>",
    ),
    "transaction": Output(
        "*mut zkr_transaction",
        "",
        "zkr_transaction *{n} = nullptr",
        "Transaction",
        "Transaction({n})",
        rust="Transaction",
        wrap="Transaction::of",
    ),
}

# What a question answers: its type in C, the answer of a handle that cannot be used, the type in C++ and in Rust.
ANSWERS = {
    "bool": ("bool", "false", "bool", "bool"),
    "u16": ("u16", "0", "std::uint16_t", "u16"),
    "u32": ("u32", "0", "std::uint32_t", "u32"),
    "u64": ("u64", "0", "std::uint64_t", "u64"),
    "count": ("usize", "0", "std::size_t", "usize"),
    "commit_mode": ("zkr_commit_mode", "zkr_commit_mode::ZKR_COMMIT_MODE_COORDINATOR", "CommitMode", "CommitMode"),
    "data": ("*const c_void", "null()", "std::string", "&[u8]"),
    "path": ("*const c_char", "null()", "std::string", "&str"),
}

# What a subscription tells: the type of its callback in C++ and what calls that, and its type in Rust.
TELLS: dict[str, tuple[str, str, str]] = {
    "lost": ("const Error &", "detail::Calls::lost", "impl FnOnce(Error) + Send + 'static"),
    "revoke": ("", "detail::Calls::revoke", "impl FnOnce() + Send + 'static"),
    "wait": ("const WaitProgress &", "detail::Calls::wait", "impl Fn(WaitProgress) + Send + Sync + 'static"),
}

# What a stream tells: the type of its items in C++ and in Rust; detail::Calls has what calls with them, so called.
STREAMS = {
    "versioned": ("std::optional<Versioned>", "Option<Versioned>"),
    "entries": ("std::map<std::string, std::string>", "BTreeMap<String, Vec<u8>>"),
    "owners": ("std::map<std::string, std::optional<std::string>>", "BTreeMap<String, Option<String>>"),
    "group": ("GroupEvent", "GroupEvent"),
    "node": ("NodeState", "NodeState"),
    "leader": ("std::optional<Leader>", "Option<Leader>"),
    "leadership": ("Leadership", "Leadership"),
    "held": ("Held", "Held"),
    "number": ("std::int64_t", "i64"),
    "instances": ("std::vector<Instance>", "Vec<Instance>"),
    "strings": ("std::vector<std::string>", "Vec<String>"),
}

# What a stream hands over; anything else it lends.
HANDED_OVER = {"leadership": "lead", "held": "work"}
