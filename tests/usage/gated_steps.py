"""examples/python/nightly, with a step that the test holds up."""

import gate
import nightly

carry_out = nightly.carry_out


def held_up(step: str, token: int) -> None:
    carry_out(step, token)
    if step == "load":
        gate.work()


nightly.carry_out = held_up
nightly.main()
