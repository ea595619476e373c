"""kazoo's worker of the crowd: a Lock whose names Curator and we sort among our own, and which waits for them."""

from kazoo.client import KazooClient
from owner_kazoo import CuratorLock
from work import job, unfinished, work

me = job()
client = KazooClient(me.hosts)
client.start()
lock = CuratorLock(client, me.path)
while unfinished(me):
    with lock:
        work(me)
client.stop()
client.close()
