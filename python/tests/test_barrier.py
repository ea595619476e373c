"""What Python makes of barriers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import zkrecipes


def test_waits_are_cancelled_from_another_thread(client: zkrecipes.Client) -> None:
    barrier = client.barrier("/barrier")
    barrier.create()
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(barrier.wait) for _ in range(2)]
        while not all(one.done() for one in waiting):
            barrier.cancel()
        assert [type(one.exception()) for one in waiting] == [zkrecipes.Cancelled] * 2
    # Later ones are not affected.
    with pytest.raises(zkrecipes.Timeout):
        barrier.wait(0.05)


@pytest.mark.parametrize("wrong", ["1", b"1", float("nan"), -2, -0.5])
def test_a_time_that_is_none_is_refused(client: zkrecipes.Client, wrong: Any) -> None:
    with pytest.raises(zkrecipes.Invalid, match="timeout"):
        client.barrier("/barrier").wait(wrong)
