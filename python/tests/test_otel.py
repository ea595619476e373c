"""Metrics and events in OpenTelemetry's own SDK."""

from __future__ import annotations

import gc

import pytest
import zkrecipes
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from zkrecipes import otel


def points(data: MetricsData | None) -> dict[str, dict[object, float]]:
    """The numbers by the name of their metric and the value of their attribute."""
    found: dict[str, dict[object, float]] = {}
    for resource in data.resource_metrics if data else []:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    label = next(iter((point.attributes or {}).values()), None)
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
    assert seen["zkrecipes.waits.count"][None] == 1 == seen["zkrecipes.waits.buckets"][3600]
    assert 0 < seen["zkrecipes.waits.sum"][None] < 10
    stop()
    assert points(reader.get_metrics_data()) == {}


def test_a_client_that_is_gone_is_not_kept(server: object, hosts: str, reader: InMemoryMetricReader) -> None:
    client = zkrecipes.Client(hosts)
    otel.observe(client, MeterProvider([reader]).get_meter("test"))
    assert points(reader.get_metrics_data())
    client.close(5)
    del client
    gc.collect()
    assert points(reader.get_metrics_data()) == {}
