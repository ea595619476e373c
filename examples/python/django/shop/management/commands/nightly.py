"""python manage.py nightly: cron starts it on every machine, and one of them does it."""

import signal
import sys

import zkrecipes
from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils import timezone


def archive(part: int) -> None:
    """The work, in steps."""


class Command(BaseCommand):
    help = "Archives what is old, once a day"

    def handle(self, *args: object, **options: object) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leaves the lock, and ends the session
        client: zkrecipes.Client = settings.ZOOKEEPER()
        today = timezone.localdate().isoformat()  # where settings.TIME_ZONE says
        held = client.lock("/cron/nightly/lock").acquire(blocking=False)
        if not held:
            self.stdout.write("somebody else is at it")
            return
        with held:
            client.nodes.ensure("/cron/nightly/done")
            if client.nodes.get("/cron/nightly/done")[0] == today.encode():
                self.stdout.write("done already")
                return
            for part in range(3):
                if not held.is_held:
                    return  # leaving the lock raises Lost
                archive(part)
            done = held.guarded()  # applied only while the lock stands
            done.set("/cron/nightly/done", today)
            done.commit()
            self.stdout.write("done")
