"""gunicorn: the application is loaded once and forked, and each worker connects for itself.

gunicorn application:app
"""

import application

preload_app = True
workers = 2
graceful_timeout = 30  # for requests that are under way at SIGTERM


def post_fork(server: object, worker: object) -> None:
    application.connect()


def worker_exit(server: object, worker: object) -> None:
    application.close()
