"""Celery: each process of the pool has a client of its own; a report is written once, however often it is asked for.

celery -A tasks worker
zkrecipes elect /leaders/beat -- celery -A tasks beat    # on every machine: one of them is the beat
"""

import datetime
import os

import zkrecipes
from celery import Celery
from celery.signals import worker_process_init, worker_process_shutdown

app = Celery("tasks", broker=os.environ.get("CELERY_BROKER", "amqp://"))
# A message counts as done when its task is: of a worker that dies, another one gets it.
app.conf.update(task_acks_late=True, task_reject_on_worker_lost=True, worker_prefetch_multiplier=1)
app.conf.beat_schedule = {"report": {"task": "tasks.report", "schedule": datetime.timedelta(hours=1)}}

client: zkrecipes.Client


@worker_process_init.connect
def connect(**_: object) -> None:
    """After the fork: a client belongs to the process that has connected it."""
    global client
    client = zkrecipes.Client()  # ZKRECIPES_HOSTS


@worker_process_shutdown.connect
def close(**_: object) -> None:
    client.close(timeout=5)  # what is held is free at once


# The lock was lost in the middle of it, or the servers were away.
AGAIN = (zkrecipes.Lost, zkrecipes.NotHeld, zkrecipes.ConnectionLost)


def write(day: str, part: int) -> None:
    """The work, in steps."""


@app.task(name="tasks.report", autoretry_for=AGAIN, retry_backoff=True)
def report(day: str | None = None) -> None:
    """Beats that overlap, retries and messages that come twice: one of them all writes the report of a day."""
    day = day or datetime.date.today().isoformat()
    with client.lock("/reports/lock") as held:
        if client.nodes.exists(f"/reports/done/{day}"):
            return
        for part in range(3):
            if not held.is_held:
                return  # leaving the lock raises Lost, and the task is tried again
            write(day, part)
        client.nodes.ensure("/reports/done")
        done = held.guarded()  # applied only while the lock stands
        done.create(f"/reports/done/{day}", str(held.fencing_token))
        done.commit()
