"""The logger `zkrecipes`: how much it wants to hear, which the core knows, so that nothing is formatted for nobody; and
what this layer itself says there.
"""

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


def say(
    level: int, event: str, message: str, *arguments: object, raised: BaseException | None = None, **fields: object
) -> None:
    """A record as those of the core, with a name and fields; and with the traceback of what was `raised`."""
    if logger.isEnabledFor(level):
        extra = {"event": event, "fields": {name: _value(field) for name, field in fields.items()}}
        logger.log(level, message, *arguments, exc_info=raised, stacklevel=2, extra=extra)


def _value(field: object) -> object:
    """Numbers and text, as the core has them. An object of the user's that cannot say what it is stops nothing."""
    if isinstance(field, str | int):
        return field
    kind = type(field).__name__
    try:
        return f"{kind}: {field}" if isinstance(field, BaseException) else repr(field)
    except Exception:
        return kind


if hasattr(logger, "_cache"):
    logger._cache = _Levels()
    tell()
else:
    # A logger of another kind: it is asked when there is something to say.
    set_log_level(logging.DEBUG)
