"""What every web service of the examples has to do, whatever it is made with."""

from __future__ import annotations

import http.client
import re
import signal
from concurrent.futures import Future, ThreadPoolExecutor

from world import Program, World, eventually


class Web:
    """Requests to a server, any number at a time."""

    def __init__(self, port: int, method: str = "GET", path: str = "/{}") -> None:
        self.port, self.method, self.path = port, method, path
        self.threads = ThreadPoolExecutor(8)

    def ask(self, user: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(self.method, self.path.format(user))
            return connection.getresponse().status
        finally:
            connection.close()

    def asking(self, user: str) -> Future[int]:
        return self.threads.submit(self.ask, user)


def serves_one_user_after_the_other(world: World, web: Web, server: Program, *, is_interrupted: bool = False) -> None:
    """Its orders, also when it is told to end in the middle of one, and when the lock is lost there: then
    work in a thread goes on, and a coroutine is interrupted."""
    # In turn.
    gate = world.gate
    before = gate.count("begun")
    first = web.asking("ann")
    gate.begun(before + 1)
    second = web.asking("ann")
    eventually(lambda: len(world.line("/users/ann")) == 2, "the second one waits")
    gate.open()
    assert [first.result(), second.result()] == [200, 200]
    assert web.ask("no%20user") in (400, 404, 422)

    # One is at it: another one of the same user waits in vain, and one of another user does not wait.
    gate.shut()
    before = gate.count("begun")
    first = web.asking("ann")
    gate.begun(before + 1)
    second, third = web.asking("ann"), web.asking("bob")
    gate.begun(before + 2)
    assert second.result() == 503
    assert not first.done()
    assert gate.count("begun") == before + 2
    gate.open()
    assert [first.result(), third.result()] == [200, 200]

    # The lock is lost in the middle of it.
    gate.shut()
    before = gate.count("begun")
    lost = web.asking("ann")
    gate.begun(before + 1)
    world.lose("/users/ann")
    if is_interrupted:
        eventually(lambda: gate.count("cancelled") == 1, "the work is interrupted")
    gate.open()
    assert lost.result() == 500

    # SIGTERM in the middle of it: it is finished, and then everything is free at once.
    gate.shut()
    before = gate.count("begun")
    last = web.asking("carol")
    gate.begun(before + 1)
    server.process.send_signal(signal.SIGTERM)
    gate.open()
    assert last.result() == 200
    # uvicorn ends by the signal, once it is done.
    assert server.ends(None) in (0, -signal.SIGTERM), server.said
    world.free_at_once("/users/carol")


def port_of(server: Program, pattern: str = r"http://127\.0\.0\.1:(\d+)") -> int:
    return int(eventually(lambda: re.search(pattern, server.said), f"it listens:\n{server.said}")[1])
