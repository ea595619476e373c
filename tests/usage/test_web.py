"""The web services of examples/python/*/, with their work held up."""

from __future__ import annotations

import sys

from web import Web, port_of, serves_one_user_after_the_other
from world import World, eventually

PYTHON = sys.executable
GUNICORN = [PYTHON, "-m", "gunicorn", "--bind", "127.0.0.1:0", "--worker-class", "gthread", "--threads", "4"]


def test_gunicorn(world: World) -> None:
    server = world.start(*GUNICORN, "gated_gunicorn:app", cwd=world.example("python/gunicorn"))
    web = Web(port_of(server))
    serves_one_user_after_the_other(world, web, server)


def test_django_preloaded_by_gunicorn(world: World) -> None:
    command = [*GUNICORN, "--preload", "--workers", "2", "gated_django"]
    server = world.start(*command, cwd=world.example("python/django"))
    web = Web(port_of(server), path="/users/{}/orders")
    # The parent has a client, and the workers have others.
    parent = world.holder("/parents")
    world.gate.open()
    eventually(lambda: web.ask("ann") == 200 and len(set(world.gate.begun())) == 2, "both workers have worked")
    assert server.process.pid not in world.gate.begun()
    assert world.holder("/parents") == parent
    world.gate.shut()
    serves_one_user_after_the_other(world, web, server)
    world.free_at_once("/parents")


def test_fastapi(world: World) -> None:
    command = [PYTHON, "-m", "uvicorn", "--port", "0", "gated_fastapi:app"]
    server = world.start(*command, cwd=world.example("python/fastapi"))
    web = Web(port_of(server), "POST", "/users/{}/orders")
    serves_one_user_after_the_other(world, web, server, is_interrupted=True)
