"""The blocking Python worker of the crowd."""

import zkrecipes
from work import job, unfinished, work

me = job()
with zkrecipes.Client(me.hosts) as client:
    lock = client.lock(me.path)
    while unfinished(me):
        with lock as held:
            work(me, held.fencing_token)
