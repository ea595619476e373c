"""What a killed process held goes to the others, as soon as the server has given its session up."""

from __future__ import annotations

import pytest
from stage import Stage, gets, waits

PAIRS = [("our-curator", "curator"), ("our-kazoo", "kazoo")]
EITHER_WAY = pytest.mark.parametrize(("killed", "heir"), [*PAIRS, *((b, a) for a, b in PAIRS)])


@EITHER_WAY
@pytest.mark.parametrize("kind", ["lock", "semaphore:1"])
def test_the_heir_gets_in(stage: Stage, killed: str, heir: str, kind: str) -> None:
    holder, waiter = stage.doomed(killed), stage.owner(heir)
    gets(holder.acquire(kind, stage.path))
    pending = waiter.acquire(kind, stage.path)
    waits(pending)
    holder.close()
    gets(pending)
