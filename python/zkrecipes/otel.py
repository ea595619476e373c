"""The metrics of a client for OpenTelemetry, whose package `opentelemetry-api` has to be installed.

>>> import zkrecipes, zkrecipes.otel
>>> from opentelemetry import metrics
>>> with zkrecipes.Client("embedded:") as client:
...     stop = zkrecipes.otel.observe(client, metrics.get_meter("my.service"))
...     stop()

Events need no bridge: what handles the records of `logging` handles those of the logger `zkrecipes`, too.
"""

from __future__ import annotations

import logging
import re
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from ._log import say
from ._values import Histogram, Metrics

if TYPE_CHECKING:
    from . import Client, aio

__all__ = ["observe"]

_HELP = re.compile(r"^# HELP zkrecipes_(\w+?)(?:_total|_seconds)? (.*)\n# TYPE \w+ (\w+)$", re.MULTILINE)


# Of one histogram. Whoever collects waits for it, and the next collections have the rest.
_MOST_AT_ONCE = 10_000


def observe(client: Client | aio.Client, meter: Meter) -> Callable[[], None]:
    """Has `meter` read the metrics of `client` as `zkrecipes.…` whenever they are collected: counters and gauges, with
    the attribute `kind` or `reason` where there are several, and histograms with the buckets that a client counts.
    Times are in seconds. Returns a function that ends it; a client that is gone is no longer read either. Give each
    client a meter of its own: nothing tells the numbers of several apart."""
    with _making:
        instruments = _instruments.get(meter)
        if instruments is None:
            instruments = _instruments[meter] = _Instruments(meter, client.metrics)
    return instruments.observe(client)


class _Instruments:
    """Those of a meter, made once: it drops the callbacks of one that it has already."""

    def __init__(self, meter: Meter, metrics: Metrics) -> None:
        self._lock = threading.Lock()
        self._observed: list[weakref.ref[Client | aio.Client]] = []
        self._histograms: list[_Durations] = []
        # That of a client which is observed again goes on.
        self._told: weakref.WeakKeyDictionary[Client | aio.Client, list[_Told]] = weakref.WeakKeyDictionary()
        self._first = ""
        told = {name: (text, kind) for name, text, kind in _HELP.findall(metrics.prometheus)}
        for field in Metrics._fields:
            if field == "prometheus":
                continue
            # What has no value yet is not in the text.
            text, kind = told.get(field, ("", "gauge"))
            name = f"zkrecipes.{field}"
            if kind == "histogram":
                self._histograms.append(_Durations(meter, name, text, field, metrics))
            elif kind == "counter":
                meter.create_observable_counter(name, [self._reading(field)], "1", text)
            else:
                unit = "s" if field.startswith("lease") or field.endswith("timeout") else "1"
                meter.create_observable_gauge(name, [self._reading(field)], unit, text)

    def observe(self, client: Client | aio.Client) -> Callable[[], None]:
        known = weakref.ref(client)
        with self._lock:
            if any(other is not client for other in self._clients()):
                message = "one OpenTelemetry meter observes several clients; give each a meter of its own"
                say(logging.WARNING, "meter_shared", message)
            self._observed.append(known)
            self._told.setdefault(client, [_Told(len(one.bounds)) for one in self._histograms])
        is_over = False

        def stop() -> None:
            nonlocal is_over
            with self._lock:
                if is_over:
                    return
                is_over = True
                # Another of the same client is equal, and as good.
                self._observed.remove(known)
            if (observed := known()) is not None:
                self._tell(observed, observed.metrics, None)

        return stop

    def _clients(self) -> set[Client | aio.Client]:
        return {client for known in self._observed if (client := known()) is not None}

    def _reading(self, field: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        read = _values(field)

        def callback(_: CallbackOptions) -> Iterable[Observation]:
            with self._lock:
                clients = self._clients()
                # Once in a collection, by whichever is not left out of them.
                self._first = self._first or field
            found: list[Observation] = []
            for client in clients:
                metrics = client.metrics
                # What cannot be observed from outside is recorded: who collects reads instruments after the callbacks.
                if self._first == field:
                    self._tell(client, metrics, _MOST_AT_ONCE)
                found.extend(read(metrics))
            return found

        return callback

    def _tell(self, client: Client | aio.Client, metrics: Metrics, most: int | None) -> None:
        # Several may collect at the same time.
        with self._lock:
            for one, told in zip(self._histograms, self._told[client], strict=True):
                one.tell(told, getattr(metrics, one.field), most)


_making = threading.Lock()
_instruments: weakref.WeakKeyDictionary[Meter, _Instruments] = weakref.WeakKeyDictionary()


class _Told:
    """What a histogram was told of a client: how many in each bucket, those over the last bound, and their sum."""

    def __init__(self, bounds: int) -> None:
        self.counts = [0] * (bounds + 1)
        self.sum = 0.0


class _Durations:
    """A histogram of OpenTelemetry's, which is told what ours has counted since it was told last."""

    def __init__(self, meter: Meter, name: str, text: str, field: str, metrics: Metrics) -> None:
        buckets = getattr(metrics, field).buckets
        self.bounds = [bound for bound, _ in buckets]
        self.histogram = meter.create_histogram(name, "s", text, explicit_bucket_boundaries_advisory=self.bounds)
        self.field = field

    def tell(self, told: _Told, now: Histogram, most: int | None) -> None:
        up_to = [*(count for _, count in now.buckets), now.count]
        # Another thread may have read it later, and told that first.
        counts = [
            max(count - below - old, 0) for count, below, old in zip(up_to, [0, *up_to[:-1]], told.counts, strict=True)
        ]
        values = _stand_ins(self.bounds, counts[:-1], counts[-1], now.sum - told.sum)
        shares = _shares(counts, most)
        for at, value in values:
            for _ in range(shares[at]):
                self.histogram.record(value)
            told.counts[at] += shares[at]
            told.sum += value * shares[at]


def _shares(counts: list[int], most: int | None) -> list[int]:
    """How many of each are told now. No bucket waits for the others."""
    total = sum(counts)
    if most is None or total <= most:
        return counts
    return [min(count, count * most // total + 1) for count in counts]


def _stand_ins(bounds: list[float], counts: list[int], over: int, total: float) -> Iterator[tuple[int, float]]:
    """For each bucket that has any a value that falls into it as the durations did of which only these are known. All
    together have their sum: each stands at the same part of its bucket; those over the last bound have what is left."""
    spans = list(zip([0.0, *bounds], bounds, counts, strict=False))
    least = sum(low * count for low, _, count in spans)
    most = sum(high * count for _, high, count in spans)
    part = 0.5 if most == least else (total - over * bounds[-1] - least) / (most - least)
    # A value at the lower bound would be in the bucket before.
    part = min(max(part, 1e-9), 1.0)
    for at, (low, high, count) in enumerate(spans):
        if count:
            value = min(low + part * (high - low), high)
            total -= value * count
            yield at, value
    if over:
        yield len(bounds), max(total / over, bounds[-1] * (1 + 1e-9))


def _values(field: str) -> Callable[[Metrics], Iterator[Observation]]:
    label = {"requests": "kind", "losses": "reason"}.get(field, "")

    def read(metrics: Metrics) -> Iterator[Observation]:
        value = getattr(metrics, field)
        if isinstance(value, dict):
            yield from (Observation(count, {label: name}) for name, count in value.items())
        elif value is not None:
            yield Observation(value)

    return read
