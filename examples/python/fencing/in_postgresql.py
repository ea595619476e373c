"""A report in PostgreSQL that only the holder of a lock writes, also when an earlier holder wakes up late.

python in_postgresql.py "host=db1 dbname=shop user=shop"
"""

import contextlib
import sys
from collections.abc import Iterator

import psycopg
import zkrecipes

TABLES = """
CREATE TABLE IF NOT EXISTS fences (resource text PRIMARY KEY, token bigint NOT NULL);
CREATE TABLE IF NOT EXISTS report (body text NOT NULL);
"""
# One row is changed, or none if a higher token stands there. It stays locked until the transaction ends.
FENCE = """
INSERT INTO fences (resource, token) VALUES (%s, %s)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE fences.token <= excluded.token
"""


class Stale(Exception):
    """Another holder has come since: what we know is old, and nothing was written."""


@contextlib.contextmanager
def fenced(database: psycopg.Connection, resource: str, token: int) -> Iterator[psycopg.Cursor]:
    """A transaction of whoever holds the lock. It begins with the token, so what is read in it is not older."""
    with database.transaction(), database.cursor() as cursor:
        cursor.execute(FENCE, (resource, token))
        if cursor.rowcount == 0:
            raise Stale(f"another one has held {resource} since token {token}")
        yield cursor


def work(body: str) -> str:
    return body + "one line more\n"


def main(place: str) -> None:
    # A holder that is paused within a transaction keeps the row: after this time the server takes the transaction back.
    limit = "-c idle_in_transaction_session_timeout=10s"
    database = psycopg.connect(place, autocommit=True, options=limit)
    with zkrecipes.Client() as client, client.lock("/locks/report") as held:  # ZKRECIPES_HOSTS
        token = held.fencing_token
        database.execute(TABLES)
        with fenced(database, "report", token) as cursor:  # from here on no earlier holder writes
            found = cursor.execute("SELECT body FROM report").fetchone()
        body = work(found[0] if found else "")  # takes as long as it takes, so it is in no transaction
        with fenced(database, "report", token) as cursor:
            cursor.execute("DELETE FROM report")
            cursor.execute("INSERT INTO report (body) VALUES (%s)", (body,))
    print("written with token", token)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Stale as error:
        sys.exit(f"nothing was written: {error}")
