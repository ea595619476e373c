"""Candidates in threads."""

import contextlib
import sys
import threading

import zkrecipes
from work import Resource, acts, job

me = job()


def stand(client: zkrecipes.Client, name: str) -> None:
    def lead(leadership: zkrecipes.Leadership) -> None:
        resource = Resource(me.port)
        leadership.acknowledge(name)
        for _ in range(acts()):
            if not leadership.is_held or not resource.act(leadership.epoch, name):
                break
        resource.close()

    with contextlib.suppress(zkrecipes.Closed):
        client.election(me.path, name).run(lead)


with zkrecipes.Client(me.hosts, session_timeout=me.session_timeout, connect_timeout=60) as client:
    threads = [threading.Thread(target=stand, args=(client, name)) for name in me.names]
    for thread in threads:
        thread.start()
    sys.stdin.read()
for thread in threads:
    thread.join()
