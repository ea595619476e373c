"""kazoo's worker of the crowd: its Semaphore, or a Lock under Curator's name, which Curator and we wait for."""

from kazoo.client import KazooClient
from owner_kazoo import CuratorLock
from work import job, rounds, work

me = job()
client = KazooClient(me.hosts)
client.start()
recipe = client.Semaphore(me.path, max_leases=me.permits) if me.permits else CuratorLock(client, me.path)
for _ in rounds(me):
    with recipe:
        work(me)
client.stop()
client.close()
