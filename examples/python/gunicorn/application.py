"""A WSGI application, in which the requests of one user wait for each other, in all processes on all machines."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import zkrecipes

client: zkrecipes.Client


def connect() -> None:
    global client
    client = zkrecipes.Client()  # ZKRECIPES_HOSTS


def close() -> None:
    client.close(timeout=5)


def place(user: str, held: zkrecipes.Held) -> str:
    """The work. If it has several steps, look at `held.is_held` between them."""
    return f"done for {user}, with token {held.fencing_token}\n"


def app(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    def answer(status: str, text: str) -> list[bytes]:
        start_response(status, [("Content-Type", "text/plain")])
        return [text.encode()]

    user = environ["PATH_INFO"].removeprefix("/")
    if not re.fullmatch(r"[\w-]{1,64}", user):
        return answer("404 Not Found", "")
    try:
        with client.lock(f"/users/{user}").hold(timeout=2) as held:
            text = place(user, held)
    except zkrecipes.Timeout:
        return answer("503 Service Unavailable", "the user has a request under way\n")
    except zkrecipes.Lost:
        return answer("500 Internal Server Error", "interrupted; look whether it was done\n")
    return answer("200 OK", text)
