"""Where the pages' tools and the package are."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs/site"), str(ROOT / "python"), str(ROOT / "tests/docs"), str(ROOT / "tests")]
