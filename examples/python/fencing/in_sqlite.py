"""A report in SQLite that only the holder of a lock writes, also when an earlier holder wakes up late.

python in_sqlite.py report.db
"""

import contextlib
import sqlite3
import sys
from collections.abc import Iterator

import zkrecipes

TABLES = (
    "CREATE TABLE IF NOT EXISTS fences (resource TEXT PRIMARY KEY, token INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS report (body TEXT NOT NULL)",
)
# One row is changed, or none if a higher token stands there.
FENCE = """
INSERT INTO fences (resource, token) VALUES (?, ?)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE fences.token <= excluded.token
"""


class Stale(Exception):
    """Another holder has come since: what we know is old, and nothing was written."""


@contextlib.contextmanager
def fenced(database: sqlite3.Connection, resource: str, token: int) -> Iterator[None]:
    """A transaction of whoever holds the lock. It begins with the token, so what is read in it is not older."""
    database.execute("BEGIN IMMEDIATE")
    with database:  # commits, or takes back if something is raised
        if database.execute(FENCE, (resource, token)).rowcount == 0:
            raise Stale(f"another one has held {resource} since token {token}")
        yield


def work(body: str) -> str:
    return body + "one line more\n"


def main(path: str) -> None:
    database = sqlite3.connect(path, isolation_level=None, timeout=30)
    for table in TABLES:
        database.execute(table)
    with zkrecipes.Client() as client, client.lock("/locks/report") as held:  # ZKRECIPES_HOSTS
        token = held.fencing_token
        with fenced(database, "report", token):  # from here on no earlier holder writes
            found = database.execute("SELECT body FROM report").fetchone()
        body = work(found[0] if found else "")  # takes as long as it takes, so it is in no transaction
        with fenced(database, "report", token):
            database.execute("DELETE FROM report")
            database.execute("INSERT INTO report (body) VALUES (?)", (body,))
    print("written with token", token)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Stale as error:
        sys.exit(f"nothing was written: {error}")
