"""APScheduler: of all processes that run this, one has a scheduler that runs. The next one takes over when it ends.

python scheduler.py
"""

import signal
import sys
import threading

import zkrecipes
from apscheduler.schedulers.background import BackgroundScheduler


def tick(leadership: zkrecipes.Leadership) -> None:
    """A job. Give the epoch to what it writes to, which can refuse a leader that is no longer one."""
    if leadership.is_held:
        print(f"tick in epoch {leadership.epoch}", flush=True)


def lead(leadership: zkrecipes.Leadership, stopping: threading.Event) -> None:
    """One term."""
    scheduler = BackgroundScheduler()
    scheduler.add_job(tick, "interval", seconds=1, args=[leadership], coalesce=True)
    over = threading.Event()
    leadership.on_lost(lambda _: over.set())
    scheduler.start()
    try:
        while not over.wait(0.1) and not stopping.is_set():
            pass
    finally:
        scheduler.shutdown(wait=not over.is_set())  # the jobs that run end before another scheduler begins


def main() -> None:
    stopping = threading.Event()
    with zkrecipes.Client() as client:  # ZKRECIPES_HOSTS
        election = client.election("/leaders/scheduler")

        def stop(*_: object) -> None:
            stopping.set()
            election.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        election.run(lambda leadership: lead(leadership, stopping))  # term after term, until it is cancelled
    print("stopped", flush=True)


if __name__ == "__main__":
    sys.exit(main())
