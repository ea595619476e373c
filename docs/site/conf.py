"""The documentation site: plain Markdown in, tabs and a search out. `make docs` calls it through build.py."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "zkrecipes"
author = "The zkrecipes authors"
copyright = "The zkrecipes authors, Apache License 2.0"
html_title = "zkrecipes"
language = "en"

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton", "language_tabs"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
sd_fontawesome_latex = False

html_theme = "furo"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_favicon = str(HERE / "static/favicon.svg")
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {"color-brand-primary": "#0b6e6e", "color-brand-content": "#0b6e6e"},
    "dark_css_variables": {"color-brand-primary": "#5fd0c5", "color-brand-content": "#5fd0c5"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
# What a console prints is no code, and a prompt is not to be copied.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
suppress_warnings: list[str] = []
