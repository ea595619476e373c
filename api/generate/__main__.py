"""Writes what is the same in each language, of the descriptions in api/.

    python api/generate            writes the generated folders and the marked parts of the C++ headers anew
    python api/generate --check    says whether they are what the descriptions give

api/README.md says how a verb is described.
"""

from __future__ import annotations

import sys
from pathlib import Path

import drivers
import options_c
import options_cpp
import options_docs
import options_drivers
import options_node
import options_python
import options_rust
from blocking import blocking
from c import functions
from coro import coroutines
from cpp import formatted, header
from description import ROOT, Description, check, describe, descriptions, with_parts
from drivers import words
from enums import enums, in_core, in_cpp, parts_of
from errors import IN_CPP, PARTS, kinds, parts
from marked import filled
from napi import addon
from node_refused import table
from options import client
from pyo3 import native, native_parts
from python_names import parts as names_of_python

import node
from python import RECIPES, asyncio_classes, asyncio_parts, factories, stub, types
from python import formatted as python_formatted

# Where the descriptions of a folder are written out: in Rust, and in C++ with the verbs of its template.
PLACES = {
    "": (ROOT / "ffi/src/generated", ROOT / "include/zkrecipes.hpp", "acquirable"),
    "testing/": (ROOT / "ffi/testing/src/generated", ROOT / "include/zkrecipes_testing.hpp", "testing/control"),
}
BLOCKING = ROOT / "core/src/blocking/generated"
ADDON = ROOT / "bindings/node/src/generated"
WORDS = ROOT / "core/src/words.rs"
PYTHON = ROOT / "python/zkrecipes"
NATIVE = ROOT / "bindings/python/src/generated"
COROUTINES = ROOT / "include/zkrecipes_coro.hpp"
# Verbs that other descriptions take over.
SHARED = {"acquirable", "backlog", "control"}
LIBRARY = ROOT / "ffi/src/lib.rs"
NEW = "// In front of this line api/generate puts"


def with_modules(stems: list[str]) -> str:
    """The library with the modules that none of its files has yet. Who wants one elsewhere in the header moves it."""
    text = LIBRARY.read_text()
    known = "".join(path.read_text() for path in LIBRARY.parent.glob("*.rs"))
    missing = [stem for stem in stems if f'"generated/{stem}.rs"' not in known]
    lines = "".join(f'#[path = "generated/{stem}.rs"]\nmod {stem};\n\n' for stem in missing)
    return text.replace(NEW, f"{lines}{NEW}")


def more_of_cpp(every: dict[str, Description]) -> dict[str, str]:
    options = [client(), *(of.options for of in every.values() if of.options)]
    arguments = {name for of in every.values() for verb in of.verbs for name, _ in verb.inputs}
    return parts(IN_CPP) | {
        "enums": in_cpp(enums(every)),
        "names in C": options_cpp.names_in_c(options, arguments),
        "options of the client": options_cpp.struct(client()),
    }


def main() -> int:
    files: dict[Path, str] = {}
    for folder, (generated, header_of_cpp, template) in PLACES.items():
        every = {name: describe(name) for name in descriptions(folder)}
        whole = {name: of for name, of in every.items() if Path(name).name not in SHARED}
        for of in whole.values():
            check(of)
        files |= {generated / f"{Path(name).name}.rs": functions(of) for name, of in whole.items()}
        files[header_of_cpp] = header(header_of_cpp, whole, template, {} if folder else more_of_cpp(every))
        if not folder:
            files[LIBRARY] = with_modules(list(whole))
            awaited = {"coroutines": f"\n{coroutines(whole, files[header_of_cpp])}\n\n"}
            files[COROUTINES] = formatted(COROUTINES, with_parts(COROUTINES, COROUTINES.read_text(), awaited))
            python = types(every)
            in_python = {"recipes": stub(python), "factories for type checkers": factories(python)}
            options = [client(), *(of.options for of in every.values() if of.options)]
            in_options = {
                "options of the client in C": options_c.struct(client()),
                "options of the client for Python": options_python.types(client()),
                **options_python.for_asyncio(options),
                **options_docs.parts(options),
            }
            in_python |= asyncio_parts(python) | native_parts(python) | names_of_python(python, kinds())
            in_options["words of scenarios"] = drivers.page(words(every))
            files |= filled(parts(PARTS) | parts_of(enums(every)) | in_options | in_python | node.parts(every))
            files |= {
                NATIVE / name: text for name, text in native(python, every, files[PYTHON / "_native.pyi"]).items()
            }
            recipes = RECIPES.format(classes=asyncio_classes(python))
            files[PYTHON / "_recipes.py"] = python_formatted(recipes, "_recipes.py")
            files |= node.files(every)
            files |= node.index(files) | table(every)
            files[WORDS] = in_core(enums(every))
            files |= options_drivers.files(options, words(every))
            files[options_rust.FILE] = options_rust.core(options)
            files[NATIVE / "options.rs"] = options_python.native(options)
            files[options_node.FILE] = options_node.lib(options)
            files[ADDON / "options.rs"] = options_node.addon(options)
            files[options_c.DEFAULTS] = options_c.macros(options)
            files |= {BLOCKING / name: text for name, text in blocking(every).items()}
            files |= {ADDON / name: text for name, text in addon(every).items()}
    folders = {path.parent for path in files if path.parent.name == "generated"}
    left_over = {path for folder in folders for path in folder.glob("*.rs")} - files.keys() | node.left_over(files)
    if "--check" in sys.argv[1:]:
        stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
        for path in sorted([*stale, *left_over]):
            print(f"{path.relative_to(ROOT)} is not what api/ gives; run python api/generate")
        return 1 if stale or left_over else 0
    for path in left_over:
        path.unlink()
    for path, text in files.items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
