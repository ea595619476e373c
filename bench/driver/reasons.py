"""Why a target is missed, and what the limit is: what the figures cannot say by themselves. Found by flame graphs,
with strace and by counting requests and wake-ups; whoever changes what is said here measures again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Reason:
    # What the targets' work begins with.
    works: tuple[str, ...]
    why: str
    # The flame graphs that show it: of which worker, at what.
    flames: tuple[str, ...] = ()


REASONS = [
    Reason(
        (
            "acquire, free, in C",
            "acquire and release in C",
            "acquire and release in blocking Rust",
            "acquire and release in Python",
            "client CPU of acquire and release in C",
        ),
        "The requests are the same two, a create and a delete, and who blocks reads the answer from the socket itself: "
        "a request is a send, a poll and a receive, and two calls that say whether the library's thread has to look "
        "at the socket. The rest is some 55,000 instructions a pair for what a lock is besides its requests: the "
        "queue of the handle, the lease, the span, the name of the node, who is told of a loss. It is spread thin.",
        ("c-lock",),
    ),
    Reason(
        (
            "acquire and release in Rust",
            "client CPU of acquire and release in Rust",
            "the same, of Curator's",
            "the same, of kazoo's",
        ),
        "Who awaits writes its request on its own thread, and the library's thread reads the answer and wakes it: that "
        "is two wake-ups more in a pair than the blocking socket has.",
        ("rust-lock",),
    ),
    Reason(
        ("release in the background",),
        "The caller does not wait for the deletion, but the server makes it ahead of the next create, which "
        "is behind it on the same connection. The row `create, delete not waited for` of the raw socket is "
        "the limit of that.",
        ("rust-background",),
    ),
    Reason(
        ("100 locks at once",),
        "Where a pair has a list besides the two requests of the raw socket (the first times, or after a pause), the "
        "server, which has one of two cores, answers it in the order of the session. zookeeper-client's own lock, "
        "with the same three requests, is the limit.",
        ("rust-disjoint",),
    ),
    Reason(
        ("hand-off, 100 waiters of one client", "requests of each, hand-off, 100 waiters of one client"),
        "The turn passes in memory, behind a deletion that has left. So what takes time are two writes for each "
        "turn, of which as many are on their way as there are waiters, and the server makes one after the other.",
        ("rust-handoff",),
    ),
    Reason(
        ("hand-off, 5,000 waiters",),
        "Ten waiters have passed the turn on before the first deletion is answered: that is a time of memory. Of "
        "5,000 no more than 32 deletions are unconfirmed, so that they have the pace of the server.",
        ("rust-handoff-5000",),
    ),
    Reason(
        ("hand-off between processes", "hand-off, 1,000 sessions"),
        "A hand-off is a deletion, its event, and a look at what stands ahead: the event says that somebody has "
        "gone, not that nobody is left. The raw sockets know their only predecessor by name and need not look. "
        "Two of them are also fewer threads: the event wakes the thread that takes the turn.",
    ),
    Reason(
        ("double barrier, 50 members",),
        "Processors are what both libraries wait for, and how far the JVM has compiled what it runs decides by "
        "how much: see `Where the limits are` in bench/README.md.",
    ),
    Reason(
        ("local hand-off",),
        "A pass is no request and no wake-up, but a whole acquisition in memory: a place at the gate of the "
        "handle, the guard of hand-offs, a hold with its own callbacks, metrics and log, and a timer in case that it "
        "waits long.",
        ("rust-local",),
    ),
    Reason(
        ("queue: get, 8 clients, to one", "queue: get, 8 clients, each its own", "queue: get, 8 raw sockets"),
        "Server and clients share the machine's cores, and one consumer keeps the server busy on one of two. "
        "Raw sockets with the same requests show what the machine allows, and clients with a queue each what the "
        "library does. What eight of one queue lose to these is finding items that nobody else takes: nobody knows "
        "of the others, and each learns of them by losing. Of twenty items one more removal is refused, one more "
        "item is gone when it is read, and each client lists what is left four times instead of once.",
        ("rust-get-8",),
    ),
    Reason(
        ("queue: get, one at a time",),
        "One call at a time is one round trip at a time, the deletion, as it is for the peers' last request. "
        "No library can be ten times as fast in that way: a raw socket that sends this one write for each item is less "
        "than five times as fast as either peer. 64 calls at a time are. "
        "The items are read ahead, but not removed ahead: those would be lost with the process, without any call that "
        "had asked for them. What is on top of the raw socket is what it is for a lock: the way to the library's "
        "thread and back.",
        ("rust-get",),
    ),
    Reason(
        ("round trips",),
        "Requests and answers are one flight each way: with 50 ms the same takes 2.0. What is above that with "
        "5 ms is time of processors, of which the raw socket has nearly as much (its rows under Distance), and of the "
        "timers of the proxy. The flame graph has half a millisecond of a pair of 21: the worker waits for the rest.",
        ("rust-away",),
    ),
    Reason(
        ("acquire and release in asyncio", "acquire and release in Node", "1,000 locks at once in asyncio"),
        "The library's thread reads the answer and wakes the loop by a descriptor; the loop runs the callback in its "
        "next turn, and the coroutine in the one behind it. In Python the two threads also wait for each other, for "
        "the lock of the interpreter.",
        ("aio-lock", "node-lock"),
    ),
    Reason(
        ("memory of one",),
        "See `Where the limits are` in bench/README.md: the transport's watches, the task of the user, and "
        "what a call keeps. The flame graphs are of memory: what was allocated when all waited, and by whom.",
        ("rust-memory", "c-memory"),
    ),
]


def reason(work: str) -> Reason | None:
    return next((reason for reason in REASONS if work.startswith(reason.works)), None)
