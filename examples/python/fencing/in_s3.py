"""A report in S3 that only the holder of a lock writes, also when an earlier holder wakes up late.

python in_s3.py my-bucket        AWS_ENDPOINT_URL is the server, if it is not Amazon's
"""

import sys
from collections.abc import Callable
from typing import Any

import boto3
import zkrecipes
from botocore.exceptions import ClientError

# The object is another one than was read, is just being changed, or is gone: read again.
CHANGED = ("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey")


class Stale(Exception):
    """Another holder has come since: what we know is old, and nothing was written."""


class Report:
    """An object whose first line is the token. In its metadata a new token would not change the ETag, which stands for
    the content alone, and whoever has read the object before could still replace it."""

    def __init__(self, s3: Any, bucket: str, key: str, token: int) -> None:
        self.s3, self.place, self.token = s3, {"Bucket": bucket, "Key": key}, token

    def take_over(self) -> bytes:
        """The first call of a new holder: writes the token. From here on no earlier holder writes."""
        return self._change(lambda body: body)

    def write(self, body: bytes) -> None:
        self._change(lambda _: body)

    def _change(self, change: Callable[[bytes], bytes]) -> bytes:
        while True:
            token, body, condition = self._read()
            if token > self.token:
                raise Stale(f"token {token} has come since; ours is {self.token}")
            body = change(body)
            try:
                self.s3.put_object(**self.place, Body=b"%d\n" % self.token + body, **condition)
                return body
            except ClientError as error:
                # Also when the answer to a put was lost, which is sent again: then what is read is ours.
                if error.response["Error"]["Code"] not in CHANGED:
                    raise

    def _read(self) -> tuple[int, bytes, dict[str, str]]:
        """The token, what else is in the object, and what has to be so still when it is replaced."""
        try:
            found = self.s3.get_object(**self.place)
        except self.s3.exceptions.NoSuchKey:
            return 0, b"", {"IfNoneMatch": "*"}
        token, _, body = found["Body"].read().partition(b"\n")
        return int(token), body, {"IfMatch": found["ETag"]}


def work(body: str) -> str:
    return body + "one line more\n"


def main(bucket: str) -> None:
    s3 = boto3.client("s3")
    with zkrecipes.Client() as client, client.lock("/locks/report") as held:  # ZKRECIPES_HOSTS
        report = Report(s3, bucket, "report", held.fencing_token)
        body = work(report.take_over().decode())
        report.write(body.encode())
    print("written with token", held.fencing_token)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Stale as error:
        sys.exit(f"nothing was written: {error}")
