"""As little as Django needs, and where the client is: `settings.ZOOKEEPER()`."""

import functools
import os

import zkrecipes

SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY", "not a secret")
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "shop.urls"
WSGI_APPLICATION = "shop.wsgi.application"
TIME_ZONE = "UTC"  # Django's own default is America/Chicago, also for what comes once a day


@functools.cache
def ZOOKEEPER() -> zkrecipes.Client:
    """The client of this process, which connects when it is used first."""
    return zkrecipes.Client(os.environ.get("ZKRECIPES_HOSTS"))


# gunicorn --preload forks after this was imported, and perhaps used: a child connects a client of its own.
os.register_at_fork(after_in_child=ZOOKEEPER.cache_clear)
