"""The words that scenarios use of the verbs that are described with a `word`, as each driver obeys them.

A driver has by hand how it reads an argument and says an answer: once for each type, not for each verb.
"""

from __future__ import annotations

from dataclasses import dataclass

from description import Description, Verb, pairs, piped
from node_kinds import lower_camel

# What stands behind the name of the handle in a scenario.
SHOWN = {
    "partitions": "NAME,NAME,…",
    "limit": "[timeout_ms]",
    "version": "[version]",
    "options": "[option…]",
    "text?": "[{NAME}]",
    "bool": "[{name}]",
}
SAID = {
    "": "`ok`",
    "i32": "`ok N`",
    "i64": "`ok N`",
    "count": "`ok N`",
    "bool": "`ok true`",
    "bytes_or_none": "`ok DATA` or `ok none`",
    "strings": "`ok` names",
    "entries": "`ok MAP`",
    "owners": "`ok MAP`",
    "weights": "`ok MAP`",
    "versioned": "`ok VERSION VALUE` or `ok none`",
}


@dataclass
class Word:
    word: str
    # Of which recipe, such as double_barrier; what the core calls that.
    of: str
    core: str
    verb: Verb

    @property
    def makes(self) -> bool:
        return self.verb.kind == "new"

    @property
    def takes(self) -> list[tuple[str, str]]:
        """The arguments and their types. What may be left out is said in scenarios."""
        return [(name, "count" if kind == "count_or_one" else kind) for name, kind in pairs(self.verb.takes)]

    @property
    def says(self) -> str:
        """The type of the answer."""
        if self.makes:
            return ""
        if self.answers_always:
            return self.verb.gives
        answers = [kind for _, kind, _ in self.verb.outputs]
        return "versioned" if answers == ["bytes", "i32"] else answers[0] if answers else ""

    @property
    def waits(self) -> bool:
        return self.verb.kind == "waits"

    @property
    def answers_always(self) -> bool:
        return self.verb.kind == "question"


def words(every: dict[str, Description]) -> list[Word]:
    found = []
    for of in every.values():
        for verb in of.verbs:
            if not verb.word:
                continue
            word = Word(verb.word, of.argument, of.core_type, verb)
            unknown = {kind for _, kind in word.takes} - {*RUST_READS} | ({word.says} - {*SAID})
            if unknown:
                raise SystemExit(
                    f"api/{of.name}.toml: {verb.name} has a word, and the drivers cannot read or say "
                    f"{', '.join(unknown)}; leave the word out and write it by hand in tests/drivers/, or teach "
                    "api/generate/drivers.py"
                )
            found.append(word)
    twice = {word.word for word in found if sum(other.word == word.word for other in found) > 1}
    if twice:
        shared = ", ".join(sorted(twice))
        raise SystemExit(f"api/: two verbs have the word {shared}; the words of all recipes are one list")
    return found


def recipes(all_: list[Word]) -> list[Word]:
    return [word for word in all_ if word.makes]


# --- Rust

RUST_READS = {
    "text": "text(arguments, {i})?",
    "bytes": "bytes(arguments, {i})",
    "i64": 'number("number", text(arguments, {i})?)?',
    "count": 'number("number", text(arguments, {i})?)?',
    "partitions": "partitions(text(arguments, {i})?)",
    "limit": "millis(arguments.get({i}))",
    "version": 'optional(arguments, {i}).map(|version| number("version", version)).transpose()?',
    "text?": "optional(arguments, {i})",
    "bool": 'arguments.contains(&"{name}")',
    "options": "{of}_options(arguments.get({i}..).unwrap_or_default())?",
}
RUST = """
/// The recipes whose words are described, by client and name.
#[derive(Default)]
pub struct Recipes {{
    {fields}
}}

impl Recipes {{
    /// Whether this is a command for one of them; if so, its answer.
    pub async fn perform(&self, client: &Client, words: &[String]) -> Option<Answer> {{
        match WORDS.contains(&words[1].as_str()) {{
            true => Some(self.obey(client, words).await),
            false => None,
        }}
    }}

    async fn obey(&self, client: &Client, words: &[String]) -> Answer {{
        let arguments: &[&str] = &words[2..].iter().map(String::as_str).collect::<Vec<_>>();
        let key = (words[0].clone(), text(arguments, 0)?.to_owned());
        Ok(match words[1].as_str() {{
            {arms}
            word => return Err(Error::invalid("word", format!("{{word}} is none"))),
        }})
    }}

    pub fn forget(&self, key: &Key) {{
        {forgets}
    }}
}}

const WORDS: &[&str] = &[{words}];
"""


def rust(all_: list[Word]) -> tuple[str, set[str]]:
    """The code, and the types of the core that it needs."""
    arms = ""
    for word in all_:
        reads = ", ".join(
            RUST_READS[kind].format(i=i, name=name, of=word.of) for i, (name, kind) in enumerate(word.takes, 1)
        )
        if word.makes:
            arms += f'"{word.word}" => self.{word.of}.make(key, client.{word.of}({reads})?),\n'
            continue
        call = f"self.{word.of}.of(&key)?.{word.verb.name}({reads})"
        call += ".await?" if word.waits else "" if word.answers_always else "?"
        arms += f'"{word.word}" => {call}.said(),\n'
    made = recipes(all_)
    code = RUST.format(
        fields="".join(f"pub {word.of}: Handles<{word.core}>,\n" for word in made),
        arms=arms,
        forgets="".join(f"self.{word.of}.forget(key);\n" for word in made),
        words=", ".join(f'"{word.word}"' for word in all_),
    )
    return code, {"Client", *(word.core for word in made)}


# --- C

C_READS = {
    "text": "text(c, {i})",
    "bytes": "text(c, {i}), strlen(text(c, {i}))",
    "i64": "integer(c, {i})",
    "count": "(size_t)integer(c, {i})",
    "partitions": "partitions_of(text(c, {i})).names, partitions_of(text(c, {i})).count",
    "limit": "timeout(c, {i})",
    "version": "word(c, {i}) ? (int32_t)integer(c, {i}) : -1",
    "text?": "word(c, {i})",
    "bool": 'has_word(c, "{name}")',
    "options": "&options",
}
# What it answers into, and what says that.
C_SAYS = {
    "": ("", "answer(c, status, error)"),
    "i32": ("int32_t said = 0;", "answer_number(c, status, said, error)"),
    "i64": ("int64_t said = 0;", "answer_number(c, status, said, error)"),
    "count": ("size_t said = 0;", "answer_number(c, status, (int64_t)said, error)"),
    "bool": ("bool said = false;", "answer_bool(c, status, said, error)"),
    "bytes_or_none": ("zkr_buffer *said = NULL;", "answer_data(c, status, said, error)"),
    "strings": ("zkr_strings *said = NULL;", "answer_names(c, status, said, error)"),
    "entries": ("zkr_entries *said = NULL;", "answer_entries(c, status, said, error)"),
    "owners": ("zkr_entries *said = NULL;", "answer_entries(c, status, said, error)"),
    "weights": ("zkr_entries *said = NULL;", "answer_entries(c, status, said, error)"),
    "versioned": (
        "zkr_buffer *said = NULL; int32_t version = 0;",
        "answer_versioned(c, status, said, version, error)",
    ),
}
C_HEAD = """/* SPDX-License-Identifier: Apache-2.0
 *
 * {head}
 */

#include <string.h>

#include "driver.h"
#include "generated.h"
"""


def c_function(word: Word) -> str:
    name = f"do_{word.word.replace('-', '_')}"
    reads = [C_READS[kind].format(i=i, name=name_) for i, (name_, kind) in enumerate(word.takes, 2)]
    verb = f"zkr_{word.of}_{word.verb.name}"
    if word.makes:
        options = f"zkr_{word.of}_options options = {word.of}_options_of(c);\n" if "&options" in reads else ""
        arguments = ", ".join(["c->client->handle", *reads, "&handle", "&error"])
        return f"""
static void {name}(command *c) {{
zkr_error *error = NULL;
zkr_{word.of} *handle = NULL;
{options}zkr_status status = {verb}({arguments});
if (status == ZKR_OK) add(c->client, (lock){{.{word.of} = handle}}, text(c, 1), "");
answer(c, status, error);
}}
"""
    place, says = C_SAYS[word.says]
    place += "\n" * bool(place)
    if word.answers_always:
        return f"\nstatic void {name}(command *c) {{ answer_bool(c, ZKR_OK, {verb}(named(c)->{word.of}), NULL); }}\n"
    given = [f"named(c)->{word.of}", *reads]
    if word.verb.cancellable:
        verb += "_cancellable"
        given.append("c->token")
    given += ["&said"] * bool(place) + ["&version"] * (word.says == "versioned") + ["&error"]
    return f"""
static void {name}(command *c) {{
zkr_error *error = NULL;
{place}zkr_status status = {verb}({", ".join(given)});
{says};
}}
"""


def c_recipes(all_: list[Word], head: str) -> str:
    """The handles that `lock` of driver.h has for them."""
    each = " ".join(f"X({word.of})" for word in recipes(all_))
    code = f"/* SPDX-License-Identifier: Apache-2.0\n *\n * {head}\n */\n\n#define GENERATED_RECIPES(X) {each}\n"
    return piped(code, "clang-format", "--assume-filename=tests/drivers/c/generated_recipes.h")


def c(all_: list[Word], head: str) -> str:
    rows = "".join(
        f'{{"{word.word}", do_{word.word.replace("-", "_")}, {str(word.waits).lower()}}},\n' for word in all_
    )
    code = C_HEAD.format(head=head) + "".join(c_function(word) for word in all_)
    code += f"\nconst verb described_verbs[] = {{\n{rows}{{NULL, NULL, false}},\n}};\n"
    return piped(code, "clang-format", "--assume-filename=tests/drivers/c/generated.c")


# --- Python, Node and the page


def python(all_: list[Word]) -> str:
    rows = "".join(
        f'    "{word.word}": Word("{word.of}", "{word.of if word.makes else word.verb.name}", "{word.verb.kind}", '
        f'{[kind for _, kind in word.takes]!r}, "{word.says}"),\n'
        for word in all_
    )
    return f"""

class Word(NamedTuple):
    of: str
    name: str
    # new, waits, now or question, as in api/.
    kind: str
    takes: list[str]
    says: str


# What is described.
WORDS = {{
{rows}}}
"""


def node(all_: list[Word]) -> str:
    rows = ""
    for word in all_:
        name = lower_camel(word.of if word.makes else word.verb.name)
        takes = ", ".join(f"['{name_}', '{kind}']" for name_, kind in word.takes)
        says = f", says: '{word.says}'" if word.says else ""
        of = f"of: '{lower_camel(word.of)}', name: '{name}', kind: '{word.verb.kind}'"
        rows += f"  '{word.word}': {{ {of}, takes: [{takes}]{says} }},\n"
    return f"\n/** What is described. */\nexport const WORDS = {{\n{rows}}}\n"


def page(all_: list[Word]) -> str:
    rows = "| command | answer |\n|---|---|\n"
    for word in all_:
        shown = [
            SHOWN.get(kind, "{NAME}").format(name=name, NAME="KEY" if name == "name" else name.upper())
            for name, kind in word.takes
        ]
        rows += f"| `{' '.join([word.word, 'NAME', *shown])}` | {SAID[word.says]} |\n"
    return rows
