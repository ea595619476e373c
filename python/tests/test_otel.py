"""Metrics and events in OpenTelemetry's own SDK."""

from __future__ import annotations

import gc
import types
from bisect import bisect_left
from math import inf

import pytest
import zkrecipes
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, MetricsData
from zkrecipes import otel


def points(data: MetricsData | None) -> dict[str, dict[object, float]]:
    """The numbers by the name of their metric and the value of their attribute."""
    found: dict[str, dict[object, float]] = {}
    for resource in data.resource_metrics if data else []:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    label = next(iter((point.attributes or {}).values()), None)
                    if isinstance(point, HistogramDataPoint):
                        of_buckets = zip([*point.explicit_bounds, inf], point.bucket_counts, strict=True)
                        found[metric.name] = {"count": point.count, "sum": point.sum}
                        for bound, count in of_buckets:
                            found[metric.name][bound] = count
                    else:
                        found.setdefault(metric.name, {})[label] = point.value  # type: ignore[union-attr]
    return found


@pytest.fixture
def reader() -> InMemoryMetricReader:
    return InMemoryMetricReader()


def test_what_a_client_counts_is_collected_until_it_is_ended(
    client: zkrecipes.Client, reader: InMemoryMetricReader
) -> None:
    meter = MeterProvider([reader]).get_meter("test")
    stop = otel.observe(client, meter)
    with client.lock("/locks/otel"):
        seen = points(reader.get_metrics_data())
    assert seen["zkrecipes.acquisitions"] == {None: 1} == seen["zkrecipes.holding"]
    assert seen["zkrecipes.losses"] == {"session": 0, "revoked": 0, "deleted": 0, "closed": 0}
    waits = client.metrics.waits
    assert seen["zkrecipes.waits"]["sum"] == pytest.approx(waits.sum)
    assert seen["zkrecipes.waits"]["count"] == 1
    # Those of ours are counted up to each bound.
    assert [
        (bound, sum(n for at, n in buckets(seen["zkrecipes.waits"]) if at <= bound)) for bound, _ in waits.buckets
    ] == (waits.buckets)
    assert "zkrecipes.holds" not in seen
    seen = points(reader.get_metrics_data())
    assert (seen["zkrecipes.waits"]["count"], seen["zkrecipes.holds"]["count"]) == (1, 1)
    with client.lock("/locks/otel"):
        pass
    stop()
    seen = points(reader.get_metrics_data())
    assert "zkrecipes.acquisitions" not in seen
    assert (seen["zkrecipes.waits"]["count"], seen["zkrecipes.holds"]["count"]) == (2, 2), "up to the end"


def test_a_client_that_is_observed_again_goes_on(client: zkrecipes.Client, reader: InMemoryMetricReader) -> None:
    meter = MeterProvider([reader]).get_meter("test")
    for count in (1, 2):
        stop = otel.observe(client, meter)
        with client.lock("/locks/otel"):
            seen = points(reader.get_metrics_data())
        assert seen["zkrecipes.acquisitions"] == {None: count}
        assert seen["zkrecipes.waits"]["count"] == count
        stop()
        stop()
    assert points(reader.get_metrics_data())["zkrecipes.holds"]["count"] == 2


def test_who_observes_several_clients_by_one_meter_is_warned_and_sees_both(
    client: zkrecipes.Client, hosts: str, reader: InMemoryMetricReader, caplog: pytest.LogCaptureFixture
) -> None:
    meter = MeterProvider([reader]).get_meter("test")
    otel.observe(client, meter)
    assert not caplog.messages
    with zkrecipes.Client(hosts) as other, client.lock("/locks/otel"), other.lock("/locks/other"):
        otel.observe(other, meter)
        assert points(reader.get_metrics_data())["zkrecipes.waits"]["count"] == 2
    assert "give each a meter of its own" in caplog.text


def test_a_collection_records_a_share_of_many_and_the_next_have_the_rest(reader: InMemoryMetricReader) -> None:
    counted = zkrecipes.Histogram(25_003, 9_500.0, [(1.0, 24_000), (10.0, 25_000)])
    metrics = types.SimpleNamespace(waits=counted)
    durations = otel._Durations(MeterProvider([reader]).get_meter("test"), "waits", "", "waits", metrics)  # type: ignore[arg-type]
    told = otel._Told(2)
    seen = []
    for most in (10_000, 10_000, 10_000, 10_000, None):
        durations.tell(told, counted, most)
        seen.append(points(reader.get_metrics_data())["waits"])
    assert 10_000 <= seen[0]["count"] <= 10_003
    assert all(seen[0][bound] for bound in (1.0, 10.0, inf)), "each has a share"
    assert [at["count"] for at in seen[2:]] == [25_003] * 3
    assert [seen[-1][bound] for bound in (1.0, 10.0, inf)] == [24_000, 1_000, 3]
    assert seen[-1]["sum"] == pytest.approx(counted.sum)


def buckets(histogram: dict[object, float]) -> list[tuple[float, float]]:
    return [(bound, count) for bound, count in histogram.items() if isinstance(bound, float)]


@pytest.mark.parametrize(
    ("counts", "over", "total"),
    [
        ([1, 0, 0], 0, 0.4),
        ([0, 3, 2], 0, 17.0),
        ([2, 0, 1], 2, 10_000.0),
        ([2, 0, 1], 2, 24.0),
        ([1, 0, 0], 0, 0.0),
        ([0, 0, 0], 1, 12.5),
        ([0, 4, 0], 0, 8.0),
    ],
)
def test_what_stands_for_durations_has_their_buckets_and_their_sum(counts: list[int], over: int, total: float) -> None:
    bounds = [1.0, 2.0, 10.0]
    values = [value for at, value in otel._stand_ins(bounds, counts, over, total) for _ in range([*counts, over][at])]
    found = [0] * 4
    for value in values:
        found[bisect_left(bounds, value)] += 1
    assert found == [*counts, over]
    assert sum(values) == pytest.approx(total, abs=1e-6)


def test_a_client_that_is_gone_is_not_kept(server: object, hosts: str, reader: InMemoryMetricReader) -> None:
    client = zkrecipes.Client(hosts)
    otel.observe(client, MeterProvider([reader]).get_meter("test"))
    assert points(reader.get_metrics_data())
    client.close(5)
    del client
    gc.collect()
    assert points(reader.get_metrics_data()) == {}
