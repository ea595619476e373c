"""The metrics of a client for OpenTelemetry, whose package `opentelemetry-api` has to be installed.

>>> import zkrecipes, zkrecipes.otel
>>> from opentelemetry import metrics
>>> with zkrecipes.Client("embedded:") as client:
...     stop = zkrecipes.otel.observe(client, metrics.get_meter("my.service"))
...     stop()

Events need no bridge: what handles the records of `logging` handles those of the logger `zkrecipes`, too.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from ._values import Histogram, Metrics

if TYPE_CHECKING:
    from . import Client, aio

__all__ = ["observe"]

_HELP = re.compile(r"^# HELP zkrecipes_(\w+?)(?:_total|_seconds)? (.*)\n# TYPE \w+ (\w+)$", re.MULTILINE)


def observe(client: Client | aio.Client, meter: Meter) -> Callable[[], None]:
    """Has `meter` read the metrics of `client` as `zkrecipes.…` whenever they are collected: counters and gauges, with
    the attribute `kind` or `reason` where there are several. A histogram is its `.count`, `.sum` and `.buckets`, by
    `le`. Times are in seconds. Returns a function that ends it; a client that is gone is no longer read either."""
    known = weakref.ref(client)
    is_over = False

    def reading(read: Callable[[Metrics], Iterable[Observation]]) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def callback(_: CallbackOptions) -> Iterable[Observation]:
            observed = None if is_over else known()
            return [] if observed is None else read(observed.metrics)

        return callback

    def stop() -> None:
        nonlocal is_over
        is_over = True

    told = {name: (text, kind) for name, text, kind in _HELP.findall(client.metrics.prometheus)}
    for field in Metrics._fields:
        if field == "prometheus":
            continue
        # What has no value yet is not in the text.
        text, kind = told.get(field, ("", "gauge"))
        name = f"zkrecipes.{field}"
        if kind == "histogram":
            for part, unit in (("count", "1"), ("sum", "s"), ("buckets", "1")):
                callback = reading(_part(field, part))
                meter.create_observable_counter(f"{name}.{part}", [callback], unit, text)
        elif kind == "counter":
            meter.create_observable_counter(name, [reading(_values(field))], "1", text)
        else:
            unit = "s" if field.startswith("lease") else "1"
            meter.create_observable_gauge(name, [reading(_values(field))], unit, text)
    return stop


def _values(field: str) -> Callable[[Metrics], Iterator[Observation]]:
    label = {"requests": "kind", "losses": "reason"}.get(field, "")

    def read(metrics: Metrics) -> Iterator[Observation]:
        value = getattr(metrics, field)
        if isinstance(value, dict):
            yield from (Observation(count, {label: name}) for name, count in value.items())
        elif value is not None:
            yield Observation(value)

    return read


def _part(field: str, part: str) -> Callable[[Metrics], Iterator[Observation]]:
    def read(metrics: Metrics) -> Iterator[Observation]:
        histogram: Histogram = getattr(metrics, field)
        if part == "buckets":
            yield from (Observation(count, {"le": bound}) for bound, count in histogram.buckets)
        else:
            yield Observation(getattr(histogram, "sum" if part == "sum" else "count"))

    return read
