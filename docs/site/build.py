#!/usr/bin/env python3
"""Builds the documentation site into target/site. Every warning is an error, and so is every link that leads nowhere.

docs/site/build.py                all of it
docs/site/build.py pages          only the pages, in seconds; the references stay as they are
docs/site/build.py rust c …       only these references, and the check
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from bs4 import BeautifulSoup
from pages import FENCE, IMAGE, LINK, MENU, ROOT, elsewhere, pages, shown, target
from python_reference import all_pages

HERE = Path(__file__).resolve().parent
SITE = ROOT / "target/site"
REFERENCE = SITE / "reference"
STAGED = ROOT / "target/docs/pages"


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        sys.exit(f"docs: {' '.join(str(word) for word in command[:6])} failed:\n{done.stdout}")


def write(path: Path, text: str) -> None:
    """Only what has changed, so that Sphinx reads only that again."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def page_text(source: str, name: str, known: dict[str, str]) -> str:
    """A page with its links as the site has them. What is in the tree and no page of the site is named, not linked."""

    def relinked(found: re.Match[str]) -> str:
        if elsewhere(found[2]):
            return found[0]
        path, anchor = target(source, found[2])
        if path not in known:
            if not (ROOT / path).exists():
                sys.exit(f"docs: {source}: {found[2]} leads nowhere")
            return found[1]
        to = os.path.relpath(known[path] + ".md", os.path.dirname(name) or ".")
        return f"[{found[1]}]({'' if path == source else to}{'#' if anchor else ''}{anchor})"

    def drawn(found: re.Match[str]) -> str:
        """A picture within the page, so that it takes the colours of the theme that the reader has chosen."""
        text = (ROOT / target(source, found[1])[0]).read_text()
        text = re.sub(r"<style>.*?</style>", "", text)
        return (
            '<figure class="drawn">\n' + "\n".join(line for line in text.splitlines() if line.strip()) + "\n</figure>"
        )

    lines, fence = [], False
    for line in (ROOT / source).read_text().splitlines():
        if FENCE.match(line.strip()):
            fence = not fence
        elif not fence and (file := next(shown(source, line), None)):
            lines += [f"`{file[0]}`", "", file[1]]
            continue
        lines.append(line if fence else IMAGE.sub(drawn, LINK.sub(relinked, line)))
    return "\n".join(lines) + "\n"


def stage() -> None:
    known = pages()
    wanted = {STAGED / f"{name}.md" for name in known.values()}
    for source, name in known.items():
        if name == "index":
            continue  # with the menu, below
        write(STAGED / f"{name}.md", page_text(source, name, known))
    sys.path.insert(0, str(ROOT / "python"))
    python = all_pages()
    for name, text in python.items():
        write(STAGED / f"{name}.md", text)
    wanted |= {STAGED / f"{name}.md" for name in python}
    here = set(known.values()) | set(python)
    menu = "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n"
        + "\n".join(name for name in names if name in here)
        + "\n```\n"
        for caption, names in MENU.items()
    )
    index = STAGED / "index.md"
    write(index, page_text("docs/README.md", "index", known) + menu)
    for old in set(STAGED.rglob("*.md")) - wanted:
        old.unlink()


def build_pages() -> None:
    stage()
    # What had a page once.
    for page in SITE.rglob("*.html"):
        name = page.relative_to(SITE).with_suffix(".md")
        if REFERENCE not in page.parents and not (STAGED / name).exists():
            page.unlink()
    # All are written: each has the menu.
    run(sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--write-all", "-j", "2", "-c", HERE,
        "-d", ROOT / "target/docs/doctrees", STAGED, SITE)  # fmt: skip


def replace(name: str, made: Path) -> None:
    shutil.rmtree(REFERENCE / name, ignore_errors=True)
    shutil.copytree(made, REFERENCE / name)


def rust() -> None:
    run("cargo", "doc", "--quiet", "--no-deps", "--package", "zkrecipes", "--package", "zkrecipes-embedded",
        "--features", "zkrecipes/embedded", RUSTDOCFLAGS="-D warnings")  # fmt: skip
    replace("rust", ROOT / "target/doc")
    # Its own pages link to one, which only several crates together have.
    begin = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=zkrecipes/index.html">'
    (REFERENCE / "rust/index.html").write_text(f'{begin}<a href="zkrecipes/index.html">zkrecipes</a>\n')


def c() -> None:
    made = ROOT / "target/docs/doxygen"
    made.mkdir(parents=True, exist_ok=True)
    run("doxygen", HERE / "Doxyfile")
    replace("c", made / "html")


def node() -> None:
    made = ROOT / "target/docs/typedoc"
    run(HERE / "node_modules/.bin/typedoc", "--options", HERE / "typedoc.json", "--out", made)
    replace("node", made)


REFERENCES: dict[str, Callable[[], None]] = {"rust": rust, "c": c, "node": node}


def ids(page: Path, read: dict[Path, set[str]]) -> set[str]:
    if page not in read:
        soup = BeautifulSoup(page.read_text(), "html.parser")
        read[page] = {tag[key] for tag in soup.find_all(True) for key in ("id", "name") if tag.has_attr(key)}
    return read[page]


# In a reference. What has no suffix is an item of a crate that has no page here.
REFERRED = re.compile(r'<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"#?]+\.\w+)[^"]*"')


def dead_in_references() -> list[str]:
    """Links of the references to files that are not in the site; their anchors are their makers' to check."""
    there = {str(file) for file in REFERENCE.rglob("*") if file.is_file()}
    dead = set()
    for page in REFERENCE.rglob("*.html"):
        for link in REFERRED.findall(page.read_text(errors="replace")):
            to = os.path.normpath(page.parent / unquote(link))
            if not elsewhere(link) and to not in there and not Path(to).exists():
                dead.add(f"{page.relative_to(SITE)}: {link}")
    return sorted(dead)


def dead_links() -> list[str]:
    """Links of the pages to what is not in the site."""
    dead: list[str] = []
    read: dict[Path, set[str]] = {}
    checked = 0
    for page in SITE.rglob("*.html"):
        if REFERENCE in page.parents or page.name in ("genindex.html", "search.html"):
            continue
        soup = BeautifulSoup(page.read_text(), "html.parser")
        for tag in soup.find_all(["a", "img", "link", "script", "object"]):
            link = tag.get("href") or tag.get("src") or tag.get("data")
            if not link or elsewhere(link) or link.startswith("//"):
                continue
            checked += 1
            path, _, anchor = unquote(link).partition("#")
            to = (page.parent / path.partition("?")[0]).resolve() if path else page
            if to.is_dir():
                to /= "index.html"
            where = f"{page.relative_to(SITE)}: {link}"
            if not to.exists():
                dead.append(where)
            elif anchor and to.suffix == ".html" and anchor not in ids(to, read):
                dead.append(f"{where}: no such anchor")
    if checked < 100:
        dead.append(f"only {checked} links: the pages are read wrongly")
    return dead


def main(wanted: list[str]) -> None:
    if not wanted or "pages" in wanted:
        build_pages()
    for name, make in REFERENCES.items():
        if not wanted or name in wanted:
            print(f"docs: reference for {name}", flush=True)
            make()
    dead = dead_links()
    if wanted:
        dead = [one for one in dead if "reference/" not in one]
    else:
        dead += dead_in_references()
    if dead:
        sys.exit("docs: links that lead nowhere:\n  " + "\n  ".join(dead))
    print(f"docs: {SITE / 'index.html'}")


if __name__ == "__main__":
    main(sys.argv[1:])
