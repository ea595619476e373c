"""examples/python/django under gunicorn: its work is held up, and the parent has used a client before the fork."""

import gate
import shop.urls
from django.conf import settings
from shop.wsgi import application

__all__ = ["application", "held"]

shop.urls.place = gate.work
held = settings.ZOOKEEPER().lock("/parents").acquire()
