"""The members of C++."""

from __future__ import annotations

from pathlib import Path

import options_cpp
from description import Description, Verb, load, piped, with_parts
from kinds import ANSWERS, HANDED_OVER, OUTPUTS, STREAMS, TELLS
from options_cpp import cpp_docs

# What the members of a class that is written by hand give to C, where that is not get().
HANDLES = {"nodes": "client_"} | dict.fromkeys(("config", "queue", "queue_put", "double_barrier"), "handle()")


def cpp_result(verb: Verb) -> tuple[str, str]:
    """The type that a member returns, and the expression."""
    if verb.cpp_chains:
        return "Transaction &", "*this"
    if verb.cpp_type:
        return verb.cpp_type, verb.cpp_result
    found = [(OUTPUTS[kind].cpp, OUTPUTS[kind].take.format(n=name)) for name, kind, _ in verb.outputs]
    if not found:
        return "void", ""
    if verb.outputs[0][1] == "whether":
        whether, (kind, take) = verb.outputs[0][0], found[1]
        return f"std::optional<{kind}>", f"{whether} ? std::optional<{kind}>({take}) : std::nullopt"
    if len(found) == 2:
        return f"std::pair<{found[0][0]}, {found[1][0]}>", f"{{{found[0][1]}, {found[1][1]}}}"
    return found[0]


def member(of: Description, verb: Verb, call: str, handle: str) -> list[str]:
    name = verb.cpp_name or verb.name
    docs = [cpp_docs(verb.cpp)] if verb.cpp else []
    if verb.kind == "question":
        answer = ANSWERS[verb.gives][2]
        asked = f"{call}({handle})"
        if verb.gives == "path":
            return [*docs, f"{answer} {name}() const {{ return detail::text({asked}); }}"]
        if verb.gives == "data":
            size = f"{call.removesuffix(verb.name)}size({handle})"
            read = f"static_cast<const char *>({asked})"
            return [*docs, f"{answer} {name}() const {{ return {answer}({read}, {size}); }}"]
        takes = ", ".join(kind.cpp.format(n=n) for n, kind in verb.inputs)
        given = "".join(", " + kind.give.format(n=n) for n, kind in verb.inputs)
        # Text that C cannot take is refused with an exception.
        refuses = "" if "c_text" in given else " noexcept"
        return [*docs, f"{answer} {name}({takes}) const{refuses} {{ return {call}({handle}{given}); }}"]
    if verb.kind == "stream":
        item, _ = STREAMS[verb.callback]
        handed_over = HANDED_OVER.get(verb.callback)
        told, called = (item, handed_over) if handed_over else (f"const {item} &", "changed")
        watched = "".join(kind.cpp.format(n=n) + ", " for n, kind in verb.inputs)
        given = "".join(kind.give.format(n=n) + ", " for n, kind in verb.inputs)
        return [
            *docs,
            f"Subscription {name}({watched}std::function<void({told})> {called}, "
            "std::function<void(const Error &)> ended = nullptr) const {\n"
            f"return detail::Calls::subscribe(detail::Following<{item}>{{std::move({called}), std::move(ended)}}, "
            "[&](void *data, zkr_subscription **out, zkr_error **error) {\n"
            f"return {call}({handle}, {given}&detail::Calls::{verb.callback}, data, out, error);\n}});\n}}",
        ]
    if verb.kind == "subscription":
        told, caller, _ = TELLS[verb.callback]
        return [
            *docs,
            f"Subscription {name}(std::function<void({told})> callback) const {{\n"
            "return detail::Calls::subscribe(std::move(callback), "
            "[&](void *data, zkr_subscription **out, zkr_error **error) {\n"
            f"return {call}({handle}, &{caller}, data, out, error);\n}});\n}}",
        ]

    def written(docs: list[str], takes: str, suffix: str, token: list[str]) -> list[str]:
        short = {name: name.removesuffix("_ms") for name, _ in verb.inputs}
        given = [kind.give.format(n=name, short=short[name]) for name, kind in verb.inputs]
        variables = "".join(OUTPUTS[kind].variable.format(n=n) + ";\n" for n, kind, _ in verb.outputs)
        before = "".join(kind.before.format(n=name) for name, kind in verb.inputs)
        passed = ", ".join([handle, *given, *token, *(f"&{n}" for n, _, _ in verb.outputs), "outcome.place()"])
        kind, result = cpp_result(verb)
        end = f"return {result};\n" if result else ""
        return [
            *docs,
            f"{kind} {name}({takes}) {'const ' if verb.cpp_const else ''}{{\n"
            f"{before}detail::Outcome outcome;\n{variables}"
            f"outcome.check({call}{suffix}({passed}));\n{end}}}",
        ]

    def taken(with_defaults: bool) -> str:
        listed = [kind.cpp.format(n=n, short=n.removesuffix("_ms")) for n, kind in verb.inputs]
        return ", ".join(one if with_defaults else one.partition(" = ")[0] for one in listed)

    members = written(docs, verb.cpp_takes or taken(True), "", [])
    if verb.cancellable:
        again = cpp_docs("The same, with a token that withdraws it, throwing Cancelled.")
        takes = f"{taken(False)}, const CancelToken &token"
        members += ["", *written([again], takes, "_cancellable", ["token.get()"])]
    return members


def members(of: Description, call: str = "", handle: str = "get()") -> str:
    lines: list[str] = []
    for verb in of.verbs:
        if verb.cpp is None or verb.kind == "new" or (verb.inherited and of.verbs_table):
            continue
        lines += ["", *member(of, verb, f"{call or of.prefix + '_'}{verb.name}", handle)]
    return "\n".join(lines[1:])


def a_class(of: Description) -> str:
    """A class that has nothing but its verbs."""
    name = of.core_type
    options = f"{options_cpp.struct(of.options)}\n" if of.options else ""
    return (
        f"{options}{cpp_docs(of.cpp)}\nclass {name} {{\npublic:\n"
        f"explicit {name}({of.type} *handle) : handle_(handle) {{}}\n\n{members(of, handle='handle()')}\n\n"
        f"{of.type} *handle() const noexcept {{ return handle_.get(); }}\n\nprivate:\n"
        f"detail::Handle<{of.type}, {of.type}_free> handle_;\n}};"
    )


def factories(every: dict[str, Description]) -> str:
    """What makes the handles, in Client."""
    made = []
    for of in every.values():
        for verb in (one for one in of.verbs if one.kind == "new" and one.cpp):
            handle = f"{of.type} *made = nullptr;\n"
            takes = ", ".join(kind.cpp.format(n=name) for name, kind in verb.inputs)
            before = "".join(kind.before.format(n=name) for name, kind in verb.inputs)
            given = ", ".join(kind.give.format(n=name) for name, kind in verb.inputs)
            made.append(
                f"{cpp_docs(verb.cpp or '')}\n{of.core_type} {of.argument}({takes}) {{\n{before}"
                f"detail::Outcome outcome;\n{handle}"
                f"outcome.check({of.type}_new(get(), {given}, &made, outcome.place()));\n"
                f"return {of.core_type}(made);\n}}"
            )
    return "\n\n".join(made)


def tables(every: list[Description]) -> str:
    """What the C++ template for everything that is acquired calls."""
    made = []
    for of in every:
        lines = [
            f"struct {of.verbs_table} {{",
            f"using CHandle = {of.type};",
            f"static constexpr auto free = {of.type}_free;",
        ]
        for verb in (one.name for one in of.verbs if one.inherited):
            function = f"{verb}_cancellable" if verb in ("acquire", "revoke") else verb
            lines.append(f"static constexpr auto {function} = {of.type}_{function};")
            # What is awaited.
            if verb in ("acquire", "revoke", "verify", "contenders"):
                lines.append(f"static constexpr auto {function}_async = {of.type}_{function}_async;")
        made.append("\n".join([*lines, "};"]))
    return "\n\n".join(made)


def header(path: Path, every: dict[str, Description], template: str, more: dict[str, str]) -> str:
    """The header with its marked parts anew; `template` describes the verbs that all of a kind have."""
    text = path.read_text()
    shared = Description(template, "", "", "it.core", "", "", {}, "", None)
    shared.verbs = [Verb(name, False, "", **given) for name, given in load(template)["verbs"].items()]
    parts = {"tables": tables([one for one in every.values() if one.verbs_table])}
    parts[template] = members(shared, "Verbs::")
    for name, of in every.items():
        if of.cpp:
            parts["recipes"] = f"{parts.get('recipes', '')}\n\n{a_class(of)}".strip()
            continue
        parts[name] = members(of, handle=HANDLES.get(name, "get()"))
        if of.options:
            parts[f"options of {of.core_type}"] = options_cpp.struct(of.options)
    parts["factories"] = factories(every)
    return formatted(path, with_parts(path, text, {name: f"\n{part}\n\n" for name, part in parts.items()} | more))


def formatted(path: Path, text: str) -> str:
    return piped(text, "clang-format", f"--assume-filename=include/{path.name}")
