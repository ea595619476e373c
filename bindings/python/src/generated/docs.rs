//! What python/zkrecipes/_native.pyi says. Generated from it by api/generate; do not edit.

macro_rules! doc_of {
(Error) => {
"What every error of zkrecipes derives from: `code`, `retryable`, the `path` concerned or None, and of a `put_many` how many it `put`."
};
(InvalidType) => {
"An argument of the wrong type, or an option that does not exist: Invalid, and a TypeError as well."
};
(version) => {
"The version of the library."
};
(version_after) => {
"The version of a config that was set where it had that one, or where there was none."
};
(at_exit) => {
"At interpreter exit: ends the sessions still open, so that what they hold is free at once and not after the session
timeout, and sees to it that no thread of the library is caught inside Python. Takes at most `limit` seconds for
each, since an exit must not hang."
};
(set_log_level) => {
"From this level of `logging` on, somebody listens."
};
(partition_failed) => {
"Says in the log that the work on a partition has failed."
};
(run_command) => {
"Runs the command with the arguments of a process, its name included, and returns its exit status."
};
(SessionBase) => {
"The session of both clients; what they make is in `recipes`."
};
(SessionBase.update_hosts) => {
"Replaces the list of servers, as when some are moved. A connection with a server of the new list stays; otherwise it goes on
with another one in the same session, as after a break. The chroot has to be the same. A list that cannot be used is
Invalid, and changes nothing. It waits for no server, on asyncio neither."
};
(SessionBase.close) => {
"Ends the session: waiters get Closed, what is held is released, deletions under way are awaited. Timeout: no server
has confirmed the end of the session by then. The client is closed all the same, and the servers end the session after
its timeout."
};
(SessionBase.state) => {
"connected, suspended, lost or closed."
};
(SessionBase.session_id) => {
"The id of the present session."
};
(SessionBase.session_timeout) => {
"The session timeout that the server agreed to, in seconds."
};
(SessionBase.lease_remaining) => {
"How long the server certainly still honours this session, in seconds; 0 while nothing is held."
};
(SessionBase.metrics) => {
"What this client has done and seen since it connected, and how it stands. Asks no server."
};
(SessionBase.skipped) => {
"The nodes that recipes of this client went on without since it connected, because they may not be read or what they say
is not understood, by path, and why: \"denied\", \"encoding\", \"children\" of an item that somebody has made nodes below, or
\"size\" of one that is too large to be taken. The last thousand at most; one that can be read again stays among them. Asks no
server."
};
(SessionBase.on_state) => {
"Calls `callback(state)` at each change of state; returns a function that unsubscribes. Callbacks run one at a time on
a thread of the library; what they raise is logged. They must not block. On asyncio they run on the loop, and may be
coroutine functions, which are run as tasks. One that refers to the client keeps it until it is unsubscribed or the
client is closed."
};
(SessionBase.version) => {
"The version of the library."
};
(ClientBase) => {
"What both clients share."
};
(ClientBase.read_write_lock) => {
"Readers share, writers exclude everybody: `.read` and `.write` are each a Lock on `path`."
};
(ClientBase.multi_lock) => {
"Several locks of this client as one: all or none, in the order of their paths."
};
(ClientBase.check_sequencer) => {
"Whether the acquisition that this `held.sequencer` names, of anybody in any language, still stands."
};
(ClientBase.watch_sequencer) => {
"Waits until the acquisition that this `held.sequencer` names no longer stands; Timeout after `timeout` seconds."
};
(ClientBase.whoami) => {
"As whom the server knows this client, each as `scheme:id`, which is what an access list names: by the address it comes
from, by its credentials and by its certificate. Of digest credentials it is the user alone. Invalid: servers before 3.7
do not tell."
};
(ClientBase.nodes) => {
"Plain node operations."
};
(Client) => {
"A session with a ZooKeeper ensemble; connects at once.

`hosts` is a connect string such as \"zk1:2181,zk2:2181/app\", or \"embedded:\" for a server inside this process, for
development and tests. Without it, ZKRECIPES_HOSTS is read from the environment.

The options are described in `zkrecipes.ClientOptions`.

>>> import zkrecipes
>>> with zkrecipes.Client(\"embedded:\", session_timeout=6, identity=\"worker 7\") as client:
...     print(client.state, client.session_timeout)
connected 6.0"
};
(Client.locked) => {
"A decorator: whoever calls the function waits for the lock at `path`, and lets it go when the function is done. With
`timeout`, in seconds, Timeout is raised when it cannot be had so soon, and Lost when it was lost meanwhile.

Each call is a contender of its own, so a function that calls itself, or another one under the same lock, waits for
itself. What the function returns has to be the end of its work: a generator or a coroutine is refused.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/locked-doc\")
>>> @client.locked(\"/locks/report\", timeout=5)
... def report(day):
...     return f\"report of {day}\"
>>> report(\"Monday\")
'report of Monday'
>>> client.close()"
};
(Holding) => {
"What handles and acquisitions share, on both faces."
};
(Holding.release) => {
"Lets go of what is held, and waits until the server has confirmed it; a second time is NotHeld. With `wait=False` it
returns at once, and confirms in the background; callbacks may do that too."
};
(Holding.verify) => {
"Asks the server: returns, or raises NotHeld, or ConnectionLost when it cannot be known."
};
(Holding.guarded) => {
"Node writes that the server applies only while this is held, in one transaction."
};
(Holding.on_lost) => {
"Calls `callback(error)` once if what is held now gets lost, at once if it is lost already, never for an own release;
returns a function that unsubscribes. A callback that refers to an acquisition keeps it alive until it is released."
};
(Holding.on_revoke) => {
"Calls `callback()` once when somebody asks for what is held now (`lock.revoke()`), at once if that has happened:
finish, then release. Returns a function that unsubscribes."
};
(Holding.is_held) => {
"Whether it is certainly held, by the clock and without I/O."
};
(Holding.fencing_token) => {
"The number that rises with every acquisition of the path, for resources that refuse lower ones. A handle that holds
nothing raises NotHeld."
};
(Handle) => {
"What all handles share, on both faces."
};
(Handle.acquire) => {
"Waits and returns what was acquired, or None when the time ran out.

`blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever. A second acquire on a lock that
holds waits too, whichever thread or task makes it, unless the lock is reentrant."
};
(Handle.on_wait) => {
"Calls `callback(progress)` while an acquire through this handle waits: after a second, and then ever less often, up to
once a minute. `progress` says for whom (`holder`), since when (`waited` seconds) and how many are `ahead`. Returns a
function that unsubscribes. A callback that refers to the handle keeps it, and what it holds, until it is unsubscribed."
};
(Handle.contenders) => {
"Who holds and who waits, in order. Of a semaphore there is one entry for each permit that is held, and of a
multi-lock there are the contenders of each of its locks."
};
(Handle.revoke) => {
"Asks for it: whoever holds, or the `contender` given (as `contenders()` lists it, or its node), hears of it through
`held.on_revoke` and lets go when it can. With `force_after` seconds, exactly the nodes that were asked are deleted
when they have not gone by then; a holder that cannot be reached does not know that at once, and only fencing and
guarded writes protect from it. False when there was nobody to ask."
};
(Handle.cancel) => {
"Wakes all waits in progress on this handle with Cancelled, never later ones."
};
(LockBase) => {
"What `Lock` is on both faces."
};
(LockBase.downgrade) => {
"From writing to reading, for the `write` side of a read/write lock: as `downgrade` of what it acquired last."
};
(Lock) => {
"A mutual exclusion between processes, first come, first served. Made by `client.lock(path)`.

`with lock as held:` waits, and releases on any exit; leaving raises Lost if the lock was lost meanwhile. The handle
keeps what it acquired, so that the idiom of `threading` works too:

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/lock-doc\")
>>> lock = client.lock(\"/locks/report\")
>>> with lock as held:
...     print(held.is_held)
True
>>> if lock.acquire(timeout=5):
...     try:
...         print(lock.is_held)
...     finally:
...         lock.release()
True
>>> client.close()"
};
(Lock.hold) => {
"A context manager that acquires within `timeout` seconds or raises Timeout.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/hold-doc\")
>>> with client.lock(\"/locks/report\"):
...     with client.lock(\"/locks/report\").hold(timeout=0.1):
...         pass
Traceback (most recent call last):
...
zkrecipes.Timeout: ...
>>> client.close()"
};
(ReadWriteLockBase) => {
"What both read/write locks share."
};
(ReadWriteLockBase.read) => {
"The shared side, a Lock."
};
(ReadWriteLockBase.write) => {
"The exclusive side, a Lock."
};
(ReadWriteLockBase.path) => {
"The path that is locked."
};
(ReadWriteLock) => {
"Readers share, writers exclude everybody, in the order of arrival. Made by `client.read_write_lock(path)`.

Each side is a `Lock`. What `write` acquired can be downgraded, from writing to reading: nobody writes in between. There
is no way back but to release `read` first: who asks for `write` with `read` in hand waits for itself.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/read-write-lock-doc\")
>>> catalogue = client.read_write_lock(\"/locks/catalogue\")
>>> with catalogue.read, client.read_write_lock(\"/locks/catalogue\").read as other:
...     print(other.is_held, catalogue.path)
True /locks/catalogue
>>> with catalogue.write as writing:
...     reading = writing.downgrade()
>>> reading.is_held, reading.fencing_token == writing.fencing_token
(True, True)
>>> reading.release()
>>> client.close()"
};
(MultiLockBase) => {
"What `MultiLock` is on both faces."
};
(MultiLockBase.fencing_tokens) => {
"The fencing tokens of what is held, in the order of `paths`."
};
(MultiLock) => {
"Several locks that are acquired and released together; losing one loses all. Made by `client.multi_lock([…])`.

They are taken in the order of their paths, so that two who need the same ones never wait for each other.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/multi-lock-doc\")
>>> both = client.multi_lock([client.lock(\"/accounts/bob\"), client.lock(\"/accounts/alice\")])
>>> both.paths
['/accounts/alice', '/accounts/bob']
>>> with both as held:
...     print(len(held.fencing_tokens), client.lock(\"/accounts/bob\").acquire(blocking=False))
2 None
>>> client.close()"
};
(MultiLock.hold) => {
"A context manager that acquires all within `timeout` seconds or raises Timeout."
};
(SemaphoreBase) => {
"What `Semaphore` is on both faces."
};
(SemaphoreBase.acquire) => {
"Waits for `n` permits at once and returns what was acquired, or None when the time ran out.

`blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever. Several acquisitions may be held
through one handle; `release` lets go of the latest."
};
(Semaphore) => {
"At most so many permits at once, in the order of arrival. Made by `client.semaphore(path, permits)`.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/semaphore-doc\")
>>> exports = client.semaphore(\"/limits/exports\", 3)
>>> with exports as held:
...     print(held.permits, exports.acquire(3, blocking=False))
1 None
>>> with exports.hold(3, timeout=5):
...     print(len(exports.holders()))
3
>>> client.close()"
};
(Semaphore.hold) => {
"A context manager that acquires `n` permits within `timeout` seconds or raises Timeout."
};
(Hold) => {
"What `hold(timeout)` returns."
};
(HeldBase) => {
"What both faces of an acquisition have besides."
};
(HeldBase.downgrade) => {
"From writing to reading, for what the `write` side of a read/write lock acquired: nobody writes in between, readers may
come in, and the fencing token stays. This acquisition is over then, as after a release; what is returned is held by the
`read` side. Invalid for what was acquired otherwise. On an error `write` is still held, unless it is lost."
};
(HeldBase.path) => {
"The path of the lock."
};
(HeldBase.name) => {
"The last part of the path: of a partition, its name."
};
(HeldBase.node) => {
"The path of this acquisition's own node."
};
(HeldBase.fencing_tokens) => {
"The tokens of all that is held together, in the order of their paths: several for a multi-lock."
};
(HeldBase.passes) => {
"How often the turn was passed on inside this process since it was won. With `local_handoff`, acquisitions share a
fencing token, and the pair (fencing_token, passes) rises strictly."
};
(HeldBase.permits) => {
"How many nodes of ours stand for this: the permits of a semaphore, the locks of a multi-lock."
};
(HeldBase.sequencer) => {
"A text by which anybody, in any language, can check or watch whether this acquisition still stands; see
`client.check_sequencer`."
};
(Held) => {
"One acquisition. As a context manager it is released on exit; leaving raises Lost if it was lost.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/held-doc\")
>>> with client.lock(\"/locks/report\").acquire() as held:
...     held.verify()                  # asks the server
...     first = held.fencing_token     # for whatever the lock protects
>>> held.is_held
False
>>> with client.lock(\"/locks/report\") as held:
...     print(held.fencing_token > first)
True
>>> client.close()"
};
(ElectionBase) => {
"What `Election` is on both faces."
};
(ElectionBase.campaign) => {
"Stands, and waits until this candidate leads; Timeout after `timeout` seconds. The Leadership is a Held, and a context
manager that resigns."
};
(ElectionBase.resign) => {
"Resigns, and waits until the server has confirmed it: the next candidate leads. NotHeld without leading."
};
(Election) => {
"One candidate in an election. Made by `client.election(path, data)`.

What an election acquires is the leadership, so that `with election as leadership:` waits until it leads, too.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/election-doc\", identity=\"ann\")
>>> election = client.election(\"/leader\", \"10.0.0.7:80\")
>>> with election.campaign(timeout=5) as leadership:
...     leadership.acknowledge(\"ready\")
...     leader = election.leader()
>>> leader.identity, leader.data, leader.acknowledged, leader.epoch == leadership.epoch
('ann', b'ready', True, True)
>>> @election.leading
... def report(leadership):
...     return leadership.is_held
>>> report(), election.is_leader                        # it stood, led, and resigned
(True, False)
>>> client.close()"
};
(Election.hold) => {
"A context manager that leads within `timeout` seconds or raises Timeout."
};
(Election.run) => {
"Stands, calls `work(leadership)` while this candidate leads, resigns, and stands again, until `cancel()`, until `stop`
is set, or a failure that trying again cannot help. What `work` raises is logged, and the next campaign begins after a
pause. With a `stop` that was set before, it does not stand.

Nothing can take a thread away from its work: it has to look at `leadership.is_held`, and return when that is false: it
was lost or resigned, `cancel()` was called or `stop` set. In the last two cases it leads until it returns. Where
somebody else is to lead, `leadership.signal` tells, and the work may finish for as long as `drain`; then the leadership
is lost.

`healthy` is asked before it stands and every half a second, on a thread of its own: while it is false this candidate
does not stand, and hands over if it leads. What it raises is logged and counts as false."
};
(Election.leading) => {
"A decorator: whoever calls the function stands, waits until this candidate leads, and resigns when it is done. It is
called with the leadership first, and then the arguments."
};
(Leadership) => {
"One term of a leader: a Held, of which the fencing token is the `epoch`. As a context manager it resigns on exit; leaving
raises Lost if the leadership was lost."
};
(Leadership.acknowledge) => {
"Tells everybody that this leader has begun its work, and `data`, which replaces that of the candidate. NotHeld: it
leads no more, and the server has refused it."
};
(Leadership.epoch) => {
"Rises strictly from one leader to the next: the fencing token."
};
(Leadership.signal) => {
"Is set when the work is to end, whatever the reason: somebody asks for the leadership, it is lost or resigned, or all
was cancelled. `on_lost` is for a loss alone."
};
(FoundInstance) => {
"What an `Instance` has of the object that has found it."
};
(FoundInstance.failed) => {
"It did not serve: for a while it is not picked."
};
(Terms) => {
"The terms of a candidate, one after the other: what both faces of `run` use."
};
(Terms.next) => {
"Campaigns, however often it takes; None when it was cancelled."
};
(Terms.begins) => {
"Whether the term is to begin: else all was cancelled while its owner was told of it, and it is let go."
};
(Terms.tells) => {
"From now on the leadership's `is_held` is false once all is cancelled."
};
(Terms.over) => {
"Waits until a term is over: lost or resigned, or all of it cancelled."
};
(Terms.end) => {
"Ends a term: resigns, if that was not done yet, and says what the work came to: None, or what it raised."
};
(Terms.times) => {
"Who hears how long the work keeps an event loop."
};
(Terms.abandon) => {
"Ends the last term without waiting for anything."
};
(DeadLettersBase) => {
"What `DeadLetters` is on both faces."
};
(DeadLettersBase.items) => {
"All of them in order, with what is known of their end. It reads every one of them. One that cannot be read hides no
other: its `problem` says why."
};
(DeadLetters) => {
"The dead letters of a queue, `queue.dead`: items that were claimed `max_attempts` times in vain, or that nobody can read.
`get`, `claim` and `for item in queue.dead:` take them.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/dead-letters-doc\")
>>> queue = client.queue(\"/queues/mail\", max_attempts=1)
>>> queue.put(\"spam\")
>>> queue.claim().nack(reason=\"no such user\")
>>> for letter in queue.dead.items():
...     print(letter.data, letter.reason, letter.attempts)
b'spam' no such user 1
>>> queue.dead.replay(), queue.items()
(1, [b'spam'])
>>> client.close()"
};
(ItemBase) => {
"What the asyncio class has besides what is held."
};
(ItemBase.ack) => {
"It is done: removes it from the queue. NotHeld: it was settled before, or the claim is gone and it is somebody
else's. ConnectionLost: it cannot be known whether it was removed."
};
(ItemBase.ack_with) => {
"The same, together with `writes`, all in one transaction: what the work has brought about is there exactly if
the item is done. Writes that are refused leave the item claimed, and the transaction is used up either way."
};
(ItemBase.nack) => {
"The work has failed: gives it back, and lets it step aside for the others, for `delay` seconds; by default for a
second after the first attempt and twice as long after each further one, up to five minutes. Then it is at its old
place again; with 0 at once. After the last of `max_attempts` it goes to the dead letters, which keep `reason`."
};
(ItemBase.data) => {
"What was put."
};
(ItemBase.attempts) => {
"How often it was claimed, this time included."
};
(Item) => {
"An item that was claimed: a Held with more verbs. As a context manager it is acknowledged on exit, and given back as by
`nack`, with the exception as the reason, if the body failed; leaving raises Lost if the claim was lost. `release` gives it
back as if nobody had failed.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/item-doc\")
>>> orders = client.queue(\"/queues/orders\")
>>> orders.put(\"tea\")
>>> with orders.claim(timeout=5) as item:
...     print(item.data, item.attempts, item.is_held)
b'tea' 1 True
>>> orders.put(\"coffee\")
>>> item = orders.claim()
>>> bill = client.nodes.transaction()
>>> bill.create(\"/bill\", item.data)
>>> item.ack_with(bill)      # both, or neither
>>> orders.len()
0
>>> client.close()"
};
(Item.ack) => {
"It is done: removes it from the queue. NotHeld: it was settled before, or the claim is gone and it is somebody
else's. ConnectionLost: it cannot be known whether it was removed."
};
(Item.ack_with) => {
"The same, together with `writes`, all in one transaction: what the work has brought about is there exactly if
the item is done. Writes that are refused leave the item claimed, and the transaction is used up either way."
};
(Item.nack) => {
"The work has failed: gives it back, and lets it step aside for the others, for `delay` seconds; by default for a
second after the first attempt and twice as long after each further one, up to five minutes. Then it is at its old
place again; with 0 at once. After the last of `max_attempts` it goes to the dead letters, which keep `reason`."
};
(Item.data) => {
"What was put."
};
(Item.attempts) => {
"How often it was claimed, this time included."
};
(Claims) => {
"The items of a loop, each of which is settled when the next is asked for or the loop ends. It ends by `cancel()` of what
it goes through, also while its body runs."
};
(Claims._end) => {
"Ends this loop, and no other: what it waits for, and whatever is asked of it later."
};
(Wins) => {
"The partitions that a member wins, one after the other, until it leaves. It ends by `cancel()` of the member, also while
the body of the loop runs."
};
(FeedBase) => {
"What feeds are on both faces."
};
(Feed) => {
"What goes on changing, as an iterator: the present state first, then each time that it has changed. A slow reader is told
the latest state, not every one.

It goes on over reconnections and new sessions by itself, and ends when it or the client is closed; what cannot go on,
such as Denied, is raised. As a context manager it is closed on exit. Several threads may share it.

>>> import zkrecipes
>>> client = zkrecipes.Client(\"embedded:/feed-doc\")
>>> config = client.config(\"/config/mode\")
>>> with config.watch() as feed:
...     for now in feed:
...         print(now)
...         if now is not None:
...             break
...         version = config.set(\"blue\")
None
Versioned(value=b'blue', version=0)
>>> client.close()"
};
(Feed.close) => {
"Ends the iteration, also where another thread waits for the next item."
};
(CallbackTimes) => {
"Hears how long the callbacks of a client took that its event loop called."
};
(Call) => {
"A verb of an asyncio object, ready to begin."
};
(Call.start) => {
"Begins; `deliver` gets the `Outcome`, on a thread of the library."
};
(Call.start_for) => {
"Begins; `arrive` gets the `Outcome` on the thread of the loop, or `deliver` if that does not come for it."
};
(Call.cancel) => {
"Withdraws: nothing is left behind, and what was already acquired is released. True if that is done already."
};
(Outcome) => {
"What came of a `Call`."
};
(Outcome.take) => {
"The result, or its exception raised."
};
(Outcome.discard) => {
"Nobody wants it any more."
};
(Inbox) => {
"Outcomes on their way to an event loop, which reads the descriptor. OSError where loops cannot."
};
(Inbox.fileno) => {
"Can be read as soon as something waits here."
};
(Inbox.deliver) => {
"Hands over what waits here, to be called by the loop."
};
(Seed) => {
"Carries what a native class is made of into the constructor of its Python subclass."
};
(TestingBase) => {
"What servers and proxies have in common: connections, faults and the request log."
};
(TestingBase.connect_string) => {
"What clients connect to: host and port."
};
(TestingBase.port) => {
"The port it listens on."
};
(TestingBase.shutdown) => {
"Stops for good; leaving the with statement does it too."
};
(TestingBase.drop_connections) => {
"Breaks all connections; sessions live on."
};
(TestingBase.pause) => {
"Stops answering while connections stay up."
};
(TestingBase.resume) => {
"Answers again."
};
(TestingBase.inject) => {
"Makes something go wrong once, such as \"drop_after create2 path=/locks/** nth=2\"; returns the fault's id."
};
(TestingBase.fault_fired) => {
"Whether an injected fault has happened."
};
(TestingBase.clear_faults) => {
"Takes back all faults."
};
(TestingBase.log) => {
"The requests that arrived, in order; a proxy has them in the order of their answers."
};
(TestingBase.clear_log) => {
"Forgets the requests that arrived so far."
};
(TestingBase.count) => {
"How many requests arrived of this operation (such as \"create*\") on paths that match."
};
(TestingBase.sessions) => {
"The ids of the sessions that live, as far as a proxy has seen them."
};
(TestingBase.connections) => {
"How many connections there are."
};
(EmbeddedServer) => {
"A ZooKeeper server inside this process, in memory only, for tests. Starts at once, on a free port unless one is given."
};
(EmbeddedServer.stop) => {
"Stops serving; nodes, sessions and the port are kept for `restart`."
};
(EmbeddedServer.restart) => {
"Serves again, on the same port, with all nodes and sessions."
};
(EmbeddedServer.expire) => {
"Ends a session as if its time had come; False when there is none of this id."
};
(EmbeddedServer.freeze_clock) => {
"Stops the server's clock: no session expires."
};
(EmbeddedServer.advance_clock) => {
"Moves the server's clock forward, in seconds."
};
(EmbeddedServer.thaw_clock) => {
"Lets the server's clock run again."
};
(EmbeddedServer.set_next_sequence) => {
"Sets the number that the next sequential child of `path` gets; False when there is no such node."
};
(EmbeddedServer.nodes) => {
"The paths of all nodes."
};
(EmbeddedServer.watch_count) => {
"How many watches are set."
};
(Ensemble) => {
"Several embedded servers that are one ensemble, with followers that lag and can be cut off, as real ones do.

Member 0 leads. What a follower's clients read may be old, until they ask for a sync. What an `EmbeddedServer` can do
is done to all members at once, and `connect_string` names them all.

>>> import zkrecipes
>>> from zkrecipes.testing import Ensemble
>>> with Ensemble(3) as ensemble, zkrecipes.Client(ensemble.member(2)) as client:
...     print(len(ensemble.connect_string.split(\",\")), ensemble.isolate(1), ensemble.isolate(2))
3 True False"
};
(Ensemble.members) => {
"How many members there are."
};
(Ensemble.member) => {
"What clients of one member connect to."
};
(Ensemble.lag) => {
"How many seconds late a follower learns of transactions, and of answers; False when there is no such follower."
};
(Ensemble.hold) => {
"Keeps everything from a follower until `release`: no answers to writes, old ones to reads."
};
(Ensemble.release) => {
"Lets a follower catch up."
};
(Ensemble.isolate) => {
"Cuts a follower off from the leader until `heal`. It goes on answering reads and pings, but vouches for nobody, and
after five ticks it sends its clients away. False when there is no such follower, or the leader would be left
without a majority."
};
(Ensemble.heal) => {
"Connects a follower again; False when it was not cut off."
};
(Ensemble.behind) => {
"How many transactions a member is behind the leader."
};
(Proxy) => {
"Stands in front of a real server, named as `host:port`; passes everything through, and has the same faults and the
same request log as an `EmbeddedServer`.

>>> import zkrecipes
>>> from zkrecipes.testing import EmbeddedServer, Proxy
>>> with EmbeddedServer() as server, Proxy(server.connect_string) as proxy:
...     fault = proxy.inject(\"drop_after create2 path=/a\")
...     with zkrecipes.Client(proxy.connect_string) as client, client.lock(\"/a/lock\"):
...         print(proxy.sessions() == server.sessions(), proxy.count(\"create*\", \"/a/**\") > 0)
True True"
};
(Proxy.expire) => {
"Ends a session for real, at the server: its ephemeral nodes go. False when none of this id went by. Waits for the
server, and raises OSError when it does not answer."
};
}
pub(crate) use doc_of;
