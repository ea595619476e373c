"""A worker at a queue in Python, with threads; ../README.md says what a worker does."""

import contextlib
import sys
import threading

import zkrecipes
from work import BATCH, Register, item_of, job, number_of

me = job()


def produce(client: zkrecipes.Client) -> None:
    queue = client.queue(me.path, max_items=me.bound)
    for first in range(me.first, me.last, BATCH):
        queue.put_many([item_of(number) for number in range(first, min(first + BATCH, me.last))])


def get(client: zkrecipes.Client, register: Register) -> None:
    queue = client.queue(me.path)
    while True:
        with register.doubting():
            register.tell(number_of(queue.get()))


def claim(client: zkrecipes.Client, register: Register) -> None:
    queue = client.queue(me.path)
    while True:
        with register.doubting(), contextlib.suppress(zkrecipes.NotHeld):
            item = queue.claim()
            done = client.nodes.transaction()
            done.set(me.counter, b"")
            item.ack_with(done)
            register.tell(number_of(item.data))


def consume(client: zkrecipes.Client, register: Register) -> None:
    with contextlib.suppress(zkrecipes.Closed):
        (claim if me.role == "claim" else get)(client, register)


with zkrecipes.Client(me.hosts, session_timeout=me.session_timeout, connect_timeout=60) as client:
    threads = []
    if me.role == "put":
        produce(client)
    else:
        register = Register(me.port)
        threads = [threading.Thread(target=consume, args=(client, register)) for _ in range(me.calls)]
        for thread in threads:
            thread.start()
        sys.stdin.read()
for thread in threads:
    thread.join()
