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
import threading
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
    the attribute `kind` or `reason` where there are several, and histograms with the buckets that a client counts.
    Times are in seconds. Returns a function that ends it; a client that is gone is no longer read either."""
    known = weakref.ref(client)
    histograms: list[_Durations] = []
    is_over = False

    def reading(read: Callable[[Metrics], Iterable[Observation]]) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def callback(_: CallbackOptions) -> Iterable[Observation]:
            observed = None if is_over else known()
            return [] if observed is None else read(observed.metrics)

        return callback

    def tell(metrics: Metrics) -> None:
        for one in histograms:
            one.tell(metrics)

    def first(metrics: Metrics) -> Iterable[Observation]:
        # What cannot be observed from outside is recorded: whoever collects reads the instruments after the callbacks.
        tell(metrics)
        return _values("sessions")(metrics)

    def stop() -> None:
        nonlocal is_over
        is_over, observed = True, None if is_over else known()
        if observed is not None:
            tell(observed.metrics)

    told = {name: (text, kind) for name, text, kind in _HELP.findall(client.metrics.prometheus)}
    for field in Metrics._fields:
        if field == "prometheus":
            continue
        # What has no value yet is not in the text.
        text, kind = told.get(field, ("", "gauge"))
        name = f"zkrecipes.{field}"
        if kind == "histogram":
            histograms.append(_Durations(meter, name, text, field, client.metrics))
        elif kind == "counter":
            read = first if field == "sessions" else _values(field)
            meter.create_observable_counter(name, [reading(read)], "1", text)
        else:
            unit = "s" if field.startswith("lease") or field.endswith("timeout") else "1"
            meter.create_observable_gauge(name, [reading(_values(field))], unit, text)
    return stop


class _Durations:
    """A histogram of OpenTelemetry's, which is told what ours has counted since it was told last."""

    def __init__(self, meter: Meter, name: str, text: str, field: str, metrics: Metrics) -> None:
        buckets = getattr(metrics, field).buckets
        self.bounds = [bound for bound, _ in buckets]
        self.histogram = meter.create_histogram(name, "s", text, explicit_bucket_boundaries_advisory=self.bounds)
        self.field = field
        self.told = Histogram(0, 0.0, [(bound, 0) for bound in self.bounds])
        # Several may collect at the same time.
        self.lock = threading.Lock()

    def tell(self, metrics: Metrics) -> None:
        now: Histogram = getattr(metrics, self.field)
        with self.lock:
            if now.count <= self.told.count:
                return
            before, self.told = self.told, now
        counts = [count - old for (_, count), (_, old) in zip(now.buckets, before.buckets, strict=True)]
        counts = [count - below for count, below in zip(counts, [0, *counts], strict=False)]
        over = now.count - before.count - sum(counts)
        for value, count in _stand_ins(self.bounds, counts, over, now.sum - before.sum):
            for _ in range(count):
                self.histogram.record(value)


def _stand_ins(bounds: list[float], counts: list[int], over: int, total: float) -> Iterator[tuple[float, int]]:
    """Values that fall into the buckets as the durations did of which only these are known, and have their sum. Each
    stands at the same part of its bucket; those over the last bound have what is left."""
    spans = list(zip([0.0, *bounds], bounds, counts, strict=False))
    least = sum(low * count for low, _, count in spans)
    most = sum(high * count for _, high, count in spans)
    part = 0.5 if over or most == least else (total - least) / (most - least)
    # A value at the lower bound would be in the bucket before.
    part = min(max(part, 1e-9), 1.0)
    for low, high, count in spans:
        if count:
            value = min(low + part * (high - low), high)
            total -= value * count
            yield value, count
    if over:
        yield max(total / over, bounds[-1] * (1 + 1e-9)), over


def _values(field: str) -> Callable[[Metrics], Iterator[Observation]]:
    label = {"requests": "kind", "losses": "reason"}.get(field, "")

    def read(metrics: Metrics) -> Iterator[Observation]:
        value = getattr(metrics, field)
        if isinstance(value, dict):
            yield from (Observation(count, {label: name}) for name, count in value.items())
        elif value is not None:
            yield Observation(value)

    return read
