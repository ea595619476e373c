"""Three instances of a service, and somebody who calls them in turn and leaves out the one that does not answer.

python discovery.py              with a server inside this process
python discovery.py zk1:2181     with ZooKeeper; Java services that use Curator's ServiceDiscovery are found, too
"""

import sys

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"


def call(uri: str | None) -> None:
    if uri == "http://10.0.0.2:8080/hello":
        raise ConnectionRefusedError(uri)
    print(f"called {uri}")


with zkrecipes.Client(hosts) as client:
    discovery = client.discovery("/examples/services")
    for number in range(1, 4):
        uri = "{scheme}://{address}:{port}/{name}"
        service = zkrecipes.Service("hello", f"10.0.0.{number}", port=8080, payload={"zone": "b"}, uri_spec=uri)
        # It is kept in every session, until it is unregistered or the client is closed.
        discovery.register(service)

    for _ in range(6):
        # Only the first one asks the server.
        instance = discovery.pick("hello")
        if instance is None:
            break
        try:
            call(instance.uri)
        except OSError:
            print(f"{instance.address} does not answer; for a while others are picked")
            instance.failed()
