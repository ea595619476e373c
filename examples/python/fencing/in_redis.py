"""A report in Redis that only the holder of a lock writes, also when an earlier holder wakes up late.

python in_redis.py redis://localhost:6379
"""

import sys

import redis
import zkrecipes

# The token and what it protects are fields of one key, so that one script has both. Tokens are compared as text of one
# length: numbers of Lua are exact up to 2^53 alone.
SCRIPT = """
local stored = redis.call('HGET', KEYS[1], 'token')
if stored and stored > ARGV[1] then
  return redis.error_reply('STALE token ' .. stored .. ' has come since')
end
redis.call('HSET', KEYS[1], 'token', ARGV[1])
if ARGV[2] then
  redis.call('HSET', KEYS[1], 'body', ARGV[2])
end
return redis.call('HGET', KEYS[1], 'body')
"""


class Stale(Exception):
    """Another holder has come since: what we know is old, and nothing was written."""


class Report:
    def __init__(self, database: redis.Redis, key: str, token: int) -> None:
        self.key, self.token = key, f"{token:020}"
        self.script = database.register_script(SCRIPT)

    def take_over(self) -> str:
        """The first call of a new holder: writes the token, then reads. From here on no earlier holder writes."""
        found = self._run()
        return found.decode() if found else ""

    def write(self, body: str) -> None:
        self._run(body)

    def _run(self, *body: str) -> bytes | None:
        try:
            return self.script(keys=[self.key], args=[self.token, *body])
        except redis.ResponseError as error:
            if str(error).startswith("STALE"):
                raise Stale(f"{error}; ours is {self.token}") from None
            raise


def work(body: str) -> str:
    return body + "one line more\n"


def main(url: str) -> None:
    database = redis.Redis.from_url(url)
    with zkrecipes.Client() as client, client.lock("/locks/report") as held:  # ZKRECIPES_HOSTS
        report = Report(database, "report", held.fencing_token)
        body = work(report.take_over())
        report.write(body)
    print("written with token", held.fencing_token)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Stale as error:
        sys.exit(f"nothing was written: {error}")
