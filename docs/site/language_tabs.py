"""Makes tabs of what stands side by side in plain Markdown, so that the sources stay readable where there are no tabs.

Two forms are known. The first is a paragraph that begins with a language and ends with a colon, before its code:

    Python:

    ```python
    …
    ```

    Node; the signal is optional:

    ```js
    …
    ```

What stands between the language and the colon is told above the code of the tab. The second form is code of several
languages that follows one another without a word between. Either way two languages or more make tabs. Who chooses a
language in one place has chosen it everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx_design.shared import create_component

LANGUAGES = ["Python", "asyncio", "Node", "Rust", "C++", "C", "Shell"]
SAID = re.compile(rf"({'|'.join(map(re.escape, LANGUAGES))})(?:(?:;| with| in) (.+))?:\Z", re.DOTALL)
OF_CODE = {"python": "Python", "js": "Node", "rust": "Rust", "c": "C", "cpp": "C++", "console": "Shell", "sh": "Shell"}
# So that a language is always at the same place.
ORDER = ["Python", "asyncio", "Node", "Rust", "C", "C++", "Shell"]
GROUP = "language"

Item = tuple[str, list[nodes.Node]]


def of_paragraph(node: nodes.Node) -> tuple[str, list[nodes.Node]] | None:
    """The language that a paragraph announces, and what it says besides."""
    if not isinstance(node, nodes.paragraph) or not (said := SAID.match(node.astext())):
        return None
    if said[2] is None:
        return said[1], []
    rest = node.deepcopy()
    first = rest.children[0]
    assert isinstance(first, nodes.Text)
    text = re.sub(r"^(;\s*)", "", first.astext()[len(said[1]) :]).lstrip()
    rest.replace(first, nodes.Text(text[:1].upper() + text[1:]))
    return said[1], [rest]


def items_from(children: Sequence[nodes.Node], at: int) -> tuple[list[Item], int]:
    """The tabs that begin at a place among the children, and the place behind them."""
    items: list[Item] = []
    while at < len(children):
        announced = of_paragraph(children[at])
        if announced and at + 1 < len(children) and isinstance(children[at + 1], nodes.literal_block):
            language, content = announced
            at += 1
        elif not items or items[0][0].startswith("="):
            node = children[at]
            code = OF_CODE.get(node.get("language", "")) if isinstance(node, nodes.literal_block) else None
            if code is None:
                break
            # Without words, each language comes once.
            if any(name == f"={code}" for name, _ in items):
                break
            items.append((f"={code}", [node]))
            at += 1
            continue
        else:
            break
        if items and items[0][0].startswith("="):
            break
        while at < len(children) and isinstance(children[at], nodes.literal_block):
            content.append(children[at])
            at += 1
        items.append((language, content))
    return [(name.removeprefix("="), content) for name, content in items], at


class LanguageTabs(SphinxTransform):
    default_priority = 400

    def apply(self, **_: Any) -> None:
        for parent in list(self.document.findall(nodes.section)):
            at = 0
            while at < len(parent.children):
                items, end = items_from(parent.children, at)
                if len(items) < 2 or len({name for name, _ in items}) < len(items):
                    at += 1
                    continue
                parent.children[at:end] = [tabs(items)]
                parent.setup_child(parent.children[at])
                at += 1


def tabs(items: list[Item]) -> nodes.Node:
    made = create_component("tab-set", classes=["sd-tab-set", "languages"])
    for language, content in sorted(items, key=lambda item: ORDER.index(item[0])):
        label = nodes.rubric(language, language, classes=["sd-tab-label"])
        label["sync_id"], label["sync_group"] = language, GROUP
        made += create_component(
            "tab-item",
            classes=["sd-tab-item"],
            selected=False,
            children=[label, create_component("tab-content", classes=["sd-tab-content"], children=content)],
        )
    return made


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(LanguageTabs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
