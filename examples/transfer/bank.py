"""The bank: one of two sites between which money is paid. Its account is in a SQLite database of its own.

python bank.py bank.db zk1:2181        the other one is shop.mjs; pay.py begins payments

An error ends it, as a crash does: whoever starts it again has it go on where it was.
"""

import json
import os
import sqlite3
import sys
import threading
import time

import zkrecipes

file, hosts = sys.argv[1:]

db = sqlite3.connect(file, check_same_thread=False)
one_at_a_time = threading.Lock()
with db:
    db.execute("CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, cents INTEGER CHECK (cents >= 0))")
    db.execute("INSERT OR IGNORE INTO account VALUES (1, 100000)")
    db.execute("CREATE TABLE IF NOT EXISTS payment (id TEXT PRIMARY KEY, cents INTEGER, state TEXT)")


def prepare(payment: str, cents: int) -> bool:
    """Whether it can be done: then it can be from here on, and can be undone, whatever happens to us."""
    known = db.execute("SELECT state FROM payment WHERE id = ?", (payment,)).fetchone()
    if known:
        # We may have been killed before we voted. What is settled is never done again.
        return known == ("prepared",)
    try:
        with db:
            db.execute("INSERT INTO payment VALUES (?, ?, 'prepared')", (payment, cents))
            # What we pay is set aside.
            db.execute("UPDATE account SET cents = cents + ?", (min(cents, 0),))
    except sqlite3.IntegrityError:
        return False  # There is not that much in the account.
    return True


def settle(payment: str, outcome: str) -> None:
    """Does what was decided; a second time it does nothing."""
    prepared = db.execute("SELECT cents FROM payment WHERE id = ? AND state = 'prepared'", (payment,)).fetchone()
    if prepared is None:
        return
    (cents,) = prepared
    # What comes is booked by a commit, and what was set aside goes back by an abort.
    booked = max(cents, 0) if outcome == "commit" else -min(cents, 0)
    with db:
        db.execute("UPDATE account SET cents = cents + ?", (booked,))
        db.execute("UPDATE payment SET state = ? WHERE id = ?", (outcome, payment))


def finish(proposal: zkrecipes.Proposal) -> None:
    print("asked", proposal.id)
    if not proposal.has_voted:
        cents = json.loads(proposal.payload)["bank"]
        with one_at_a_time:
            prepared = prepare(proposal.id, cents)
        if prepared:
            print("prepared", proposal.id)
            proposal.vote_commit()
        else:
            proposal.vote_abort("not enough money, or settled before")
    print("voted", proposal.id)
    outcome = proposal.outcome()
    print(outcome, proposal.id)
    with one_at_a_time:
        settle(proposal.id, outcome)
    print("settled", proposal.id)
    proposal.acknowledge()
    print("done", proposal.id)


def begin(proposal: zkrecipes.Proposal) -> None:
    """In a thread of its own: one that is in doubt holds up no other."""
    threading.Thread(target=finish, args=(proposal,), daemon=True).start()


def end(failure: threading.ExceptHookArgs) -> None:
    threading.__excepthook__(failure)
    os._exit(1)


threading.excepthook = end
with zkrecipes.Client(hosts) as client:
    payments = client.two_phase_commit("/payments")
    until = time.monotonic() + 2 * client.session_timeout
    while True:
        try:
            payments.join("bank")
            break
        except zkrecipes.Exists:
            # Who was killed is there until its session ends; after that somebody else is the bank.
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
    asked = payments.pending()
    # What we prepared and were killed before we voted on may be over without us: then it was aborted.
    for (payment,) in db.execute("SELECT id FROM payment WHERE state = 'prepared'").fetchall():
        if payment not in [proposal.id for proposal in asked]:
            settle(payment, "abort")
    for proposal in asked:
        begin(proposal)
    begun = {proposal.id for proposal in asked}
    while True:
        proposal = payments.next()
        # What has not been voted on yet is told here as well.
        if proposal.id not in begun:
            begin(proposal)
