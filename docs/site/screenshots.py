#!/usr/bin/env python3
"""Looks at the site in a real browser: wide and narrow, light and dark. Pictures go to target/screenshots.

docs/site/screenshots.py               all pages
docs/site/screenshots.py lock options  only these

It fails when a page is wider than its window, when the browser has something to complain about, when a picture is not
shown, or when choosing a language in one place does not choose it everywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "target/site"
SHOTS = ROOT / "target/screenshots"
BROWSER = "/usr/bin/chromium"
WIDTHS = {"phone": (375, 812), "desktop": (1280, 900)}
# Pictures are taken of these, at a heading where there is one.
PAGES = {
    "index": "",
    "lock": "#how-it-looks",
    "concepts": "#the-lease",
    "options": "#python",
    "start/python": "",
    "python-reference": "#client",
}
# Every page is looked at for overflow, in one theme.
# What scrolls by itself, such as code and wide tables, may be wider.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth
  const may = (one) => one && one.tagName !== 'ARTICLE' && (['auto', 'scroll'].includes(getComputedStyle(one).overflowX) || may(one.parentElement))
  const out = (one) => one.getBoundingClientRect().right > width + 1 && one.getBoundingClientRect().width > 1
  const wide = [...document.querySelectorAll('article *')].filter((one) => out(one) && !may(one)).map((one) => one.outerHTML.slice(0, 120))
  return wide.length === 0 && document.documentElement.scrollWidth > width ? ['the page'] : wide.slice(0, 3)
}"""
UNSEEN = "() => [...document.images].filter((one) => !one.complete || one.naturalWidth === 0).map((one) => one.src)"


def looked_at(page: Page, name: str, shot: Path | None) -> list[str]:
    said: list[str] = []
    page.on(
        "console",
        lambda message: said.append(f"console: {message.text}") if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("requestfailed", lambda request: said.append(f"not loaded: {request.url}"))
    page.goto((SITE / f"{name}.html").as_uri() + PAGES.get(name, ""))
    page.wait_for_load_state("load")
    said += [f"wider than the window: {one}" for one in page.evaluate(TOO_WIDE)]
    said += [f"not shown: {one}" for one in page.evaluate(UNSEEN)]
    if shot:
        page.screenshot(path=shot, full_page=name == "index")
    return [f"{name}: {one}" for one in said]


def choosing(browser: Browser) -> list[str]:
    """Who chooses Node on one page sees Node on the next one."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((SITE / "lock.html").as_uri())
    page.locator("label.sd-tab-label", has_text="Node").first.click()
    if not page.get_by_text("lock.run(async").first.is_visible():
        return ["lock: choosing Node shows no JavaScript"]
    page.goto((SITE / "counter.html").as_uri())
    if not page.get_by_text("client.counter('/counters/orders')").first.is_visible():
        return ["counter: the language that was chosen on another page is not shown"]
    page.close()
    return []


def main() -> None:
    if not (SITE / "index.html").exists():
        sys.exit("there is no site: make docs")
    SHOTS.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    everything = sorted(
        page.relative_to(SITE).with_suffix("").as_posix()
        for page in SITE.rglob("*.html")
        if "reference" not in page.relative_to(SITE).parts[:-1]
    )
    everything = [name for name in everything if name in sys.argv[1:] or not sys.argv[1:]]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for width, (across, down) in WIDTHS.items():
            for theme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": across, "height": down}, color_scheme=theme, reduced_motion="reduce"
                )
                for name in everything if theme == "light" else [name for name in PAGES if name in everything]:
                    page = context.new_page()
                    shot = SHOTS / f"{name.replace('/', '-')}-{width}-{theme}.png" if name in PAGES else None
                    wrong += [f"{width}, {theme}: {one}" for one in looked_at(page, name, shot)]
                    page.close()
                context.close()
        wrong += choosing(browser)
        browser.close()
    if wrong:
        sys.exit("screenshots:\n  " + "\n  ".join(wrong))
    print(f"screenshots: {len(everything)} pages, pictures in {SHOTS}")


if __name__ == "__main__":
    main()
