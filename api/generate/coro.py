"""The functions of C++ that are awaited: each begins the asynchronous form of a verb."""

from __future__ import annotations

import re

from cpp import HANDLES, cpp_result
from description import Description, Verb
from kinds import OUTPUTS

# What a callback is given between the status and the error, where that is not the one answer that is handed over:
# its types and names. {n} is the name of the answer.
LENT = {
    "zkr_done_callback": [],
    "zkr_number_callback": [("std::int64_t", "{n}")],
    "zkr_leader_callback": [("const zkr_leader *", "{n}")],
    "zkr_buffer_callback": [("zkr_buffer *", "{n}"), ("const zkr_stat *", "stat")],
    "zkr_stat_callback": [("const zkr_stat *", "stat")],
    "zkr_queue_counts_callback": [("const zkr_queue_counts *", "{n}")],
    "zkr_versioned_callback": [("const zkr_buffer *", "{n}"), ("std::int32_t", "version")],
}
# What is made of it, where that is not what is made of the places that a blocking verb fills.
TAKEN = {
    "zkr_number_callback": "static_cast<{type}>({n})",
    "zkr_leader_callback": "detail::copied({n})",
    "zkr_queue_counts_callback": "*{n}",
    "zkr_versioned_callback": "{n} ? {type}({{detail::copied({n}), version}}) : std::nullopt",
}


def owner(header: str, name: str) -> str:
    """The class whose members are the verbs of a description."""
    before, _, _ = header.partition(f"// --- generated from api: {name}\n")
    return str(re.findall(r"^class (?:\[\[\w+\]\] )?(\w+)", before, flags=re.M)[-1])


def handed_over(verb: Verb, callback: str) -> list[tuple[str, str]]:
    if callback in LENT:
        return [(kind, name.format(n=verb.outputs[0][0] if verb.outputs else "")) for kind, name in LENT[callback]]
    name, kind, _ = verb.outputs[0]
    variable = OUTPUTS[kind].variable.format(n=name).partition(" =")[0]
    return [(variable.removesuffix(name).strip(), name)]


def taken(verb: Verb, callback: str) -> tuple[str, str]:
    """The type of the answer, and the expression that makes it."""
    answer, result = cpp_result(verb)
    if callback in TAKEN:
        return answer, TAKEN[callback].format(n=verb.outputs[0][0], type=answer)
    kinds = [kind for _, kind, _ in verb.outputs]
    if "whether" in kinds:
        return answer, f"stat ? {answer}(*stat) : std::nullopt"
    if kinds == ["stat"]:
        return answer, "*stat"
    if "stat" in kinds:
        return answer, f"{answer}({OUTPUTS[kinds[0]].take.format(n=verb.outputs[0][0])}, *stat)"
    return answer, result


def function(of: Description, verb: Verb, kind: str, handle: str) -> str:
    callback = verb.callback or (OUTPUTS[verb.outputs[0][1]].callback if verb.outputs else "zkr_done_callback")
    answer, result = taken(verb, callback)
    lent = handed_over(verb, callback)
    short = {name: name.removesuffix("_ms") for name, _ in verb.inputs}
    listed = verb.cpp_takes or ", ".join(one.cpp.format(n=name, short=short[name]) for name, one in verb.inputs)
    stop, stopping, token = ("std::stop_token stop = {}", "std::move(stop)", ["token"])
    if not verb.cancellable:
        stop, stopping, token = "", "{}", []
    takes = ", ".join(filter(None, [f"const {kind} &it", listed, stop]))
    before = "".join(one.before.format(n=name) for name, one in verb.inputs)
    given = [one.give.format(n=name, short=short[name]) for name, one in verb.inputs]
    call = f"{of.prefix}_{verb.name}{'_cancellable' if verb.cancellable else ''}_async"
    types = "".join(f", {one}" for one, _ in lent)
    used = [f"{one} {name}" if re.search(rf"\b{name}\b", result) else one for one, name in lent]
    body = f" -> {answer} {{ return {result}; }}" if result else " {}"
    made = (
        f"inline Awaited<{answer}> {verb.cpp_name or verb.name}({takes}) {{\n{before}"
        f"return detail::launch<{answer}{types}>({stopping}, []({', '.join(used)}){body}, "
        f"[&](zkr_cancel_token *{'token' if token else ''}, auto callback, void *user) {{\n"
        f"return {call}({', '.join([handle, *given, *token, 'callback', 'user'])});\n}});\n}}"
    )
    if not verb.cancellable or handle.startswith("detail::"):
        return made
    # A temporary that is destroyed while the verb waits would withdraw it.
    kept = takes.replace(f"const {kind} &it", f"{kind} &&it", 1)
    passed = [re.findall(r"(\w+)(?: = .*)?$", one)[0] for one in re.split(r", (?![^<]*>)", listed)] if listed else []
    again = ", ".join(["it", *passed, "std::move(stop)"])
    return (
        f"{made}\n\ninline Awaited<{answer}> {verb.cpp_name or verb.name}({kept}) {{\n"
        f"return {verb.cpp_name or verb.name}({again}).keeping(std::move(it));\n}}"
    )


def coroutines(every: dict[str, Description], header: str) -> str:
    made = []
    for name, of in every.items():
        kind = of.core_type if of.cpp else owner(header, name)
        handle = "handle()" if of.cpp else HANDLES.get(name, "get()")
        handle = "detail::Inside::of(it)" if name == "nodes" else f"it.{handle}"
        made += [
            function(of, verb, kind, handle)
            for verb in of.verbs
            if verb.kind == "waits" and verb.cpp is not None and not (verb.inherited and of.verbs_table)
        ]
    return "\n\n".join(made)
