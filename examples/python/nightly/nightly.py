"""A nightly job that is finished although the machine that began it dies. Start it on every machine at the same time.

python nightly.py
"""

import datetime
import sys
import time

import zkrecipes

STEPS = ["export", "load", "report"]


def carry_out(step: str, token: int) -> None:
    """May be called again for a step that was begun and not finished. What it writes to is given the token first, and
    refuses lower ones: see docs/fencing.md."""
    print(step, "with token", token, flush=True)


def go_on(client: zkrecipes.Client, night: str, within: float) -> None:
    """All others wait: whoever has the lock may die, and leaves its work to the next one."""
    with client.lock("/cron/nightly/lock").hold(timeout=within) as held:
        done = client.nodes.get("/cron/nightly/done")[0].decode().split()  # the night, and its steps
        if done[:1] > [night]:  # an empty list, of the first night, comes before all others
            sys.exit("a later night is done already")
        for step in STEPS:
            if done[:1] == [night] and step in done:
                continue
            carry_out(step, held.fencing_token)
            done = [night, *STEPS[: STEPS.index(step) + 1]]
            writes = held.guarded()  # applied only while the lock stands
            writes.set("/cron/nightly/done", " ".join(done))
            writes.commit()


def main() -> None:
    night = datetime.date.today().isoformat()  # before it waits: of the night that has begun
    until = time.monotonic() + 6 * 3600
    with zkrecipes.Client() as client:  # ZKRECIPES_HOSTS
        client.nodes.ensure("/cron/nightly/done")
        while True:
            try:
                go_on(client, night, max(0, until - time.monotonic()))
                break
            except (zkrecipes.Lost, zkrecipes.NotHeld, zkrecipes.ConnectionLost) as error:
                # A pause or an outage took the lock. Others may go on with the work; we stand behind them again.
                print(f"once more: {error}", file=sys.stderr)
            except zkrecipes.Timeout as error:
                sys.exit(f"not finished: {error}")
    print("all is done", flush=True)


if __name__ == "__main__":
    main()
