"""kazoo's worker of the crowd: a Lock whose names Curator and we sort among our own, and which waits for them."""

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock
from work import job, unfinished, work


class CuratorLock(Lock):
    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]  # noqa: RUF012 (kazoo's own way)


me = job()
client = KazooClient(me.hosts)
client.start()
lock = CuratorLock(client, me.path)
while unfinished(me):
    with lock:
        work(me)
client.stop()
client.close()
