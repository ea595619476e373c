"""How much the logger `zkrecipes` wants to hear. The core knows it, so that nothing is formatted for nobody."""

from __future__ import annotations

import logging

from ._native import set_log_level

logger = logging.getLogger("zkrecipes")


class _Levels(dict[int, bool]):
    """What a logger remembers of its levels. `logging` clears it whenever a level changes, here or above."""

    def clear(self) -> None:
        super().clear()
        tell()


def tell() -> None:
    set_log_level(max(logger.getEffectiveLevel(), logger.manager.disable + 1))


if hasattr(logger, "_cache"):
    logger._cache = _Levels()
    tell()
else:
    # A logger of another kind: it is asked when there is something to say.
    set_log_level(logging.DEBUG)
