"""For testing code that uses zkrecipes, without Java and without a network.

>>> import zkrecipes
>>> from zkrecipes.testing import EmbeddedServer
>>> with EmbeddedServer() as server, zkrecipes.Client(server.connect_string) as client:
...     with client.lock("/locks/report"):
...         session = client.session_id
...         print(server.count("create*", "/locks/**") > 0, session in server.sessions())
True True

`server.expire(client.session_id)` loses what a client holds, `drop_connections`, `pause` and `stop` with `restart` are
bad weather, and `inject` makes one request fail, such as `inject("drop_after create2 path=/locks/**")`: the node is
created, the answer never arrives. `freeze_clock`, `advance_clock` and `thaw_clock` make sessions expire without
waiting.

`Ensemble` is several such servers as one, with followers that lag and can be cut off. `Proxy` brings the same faults
and the same request log to a real server.

None of this waits for an event loop, so the same objects serve tests of asyncio code.
"""

from ._native import EmbeddedServer, Ensemble, Proxy
from ._values import LogEntry

__all__ = ["EmbeddedServer", "Ensemble", "LogEntry", "Proxy"]
