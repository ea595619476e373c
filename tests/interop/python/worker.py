"""The blocking Python worker of the crowd."""

import zkrecipes
from work import job, rounds, work

me = job()
with zkrecipes.Client(me.hosts, naming=me.naming) as client:
    recipe = client.semaphore(me.path, me.permits) if me.permits else client.lock(me.path)
    for _ in rounds(me):
        with recipe as held:
            work(me, held.fencing_token)
