"""What each face does once, in Python; with the argument aio, by asyncio. What is said goes to standard error."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import zkrecipes
from zkrecipes import aio

logging.basicConfig(level=1, stream=sys.stderr)

HOSTS, PLAIN = os.environ["ZKR_SECURE_TLS_39"], os.environ["ZKR_SECURE_PLAIN_39"]
FOLDER, SECRET = Path(os.environ["ZKR_SECURE_DIR"]), os.environ["ZKR_SECURE_SECRET"]

FILES: Any = {"ca": f"{FOLDER}/ca.pem", "cert": f"{FOLDER}/client.pem", "key": f"{FOLDER}/client.key"}
MEMORY: Any = {name: Path(path).read_text() for name, path in FILES.items()}
SASL: Any = {"user": "me", "password": SECRET}
AUTH = ("digest", f"user:{SECRET}")
# As it looks when the first line was not copied.
HEADLESS = MEMORY["key"].split("\n", 1)[1]


def server(name: str) -> str:
    return os.environ[f"ZKR_SECURE_{name}"]


GOOD: list[dict[str, Any]] = [
    {"hosts": HOSTS, "tls": FILES, "sasl": SASL},
    {"hosts": HOSTS, "tls": MEMORY | {"verify_hostname": False}, "auth": AUTH},
    {"hosts": HOSTS, "tls": FILES | {"ca": f"{FOLDER}/old-lists.pem", "allow_expired_crls": True}, "sasl": SASL},
    # With what an environment may leave of a list.
    {"hosts": " , ".join(PLAIN.split(",")) + ",", "sasl": SASL, "auth": AUTH},
]
BAD: list[tuple[type[zkrecipes.Error], str, dict[str, Any]]] = [
    (zkrecipes.Denied, "tls.ca", {"hosts": HOSTS, "tls": FILES | {"ca": f"{FOLDER}/other.pem"}}),
    (zkrecipes.Denied, "tls.cert", {"hosts": HOSTS, "tls": {"ca": FILES["ca"]}}),
    (zkrecipes.Denied, "plain text", {"hosts": PLAIN, "tls": MEMORY}),
    (zkrecipes.Denied, "sasl", {"hosts": PLAIN, "sasl": SASL | {"password": f"{SECRET}-wrong"}}),
    (zkrecipes.Invalid, "tls.key", {"hosts": HOSTS, "tls": MEMORY | {"cert": None}, "auth": AUTH}),
    (zkrecipes.Invalid, "tls.key", {"hosts": HOSTS, "tls": MEMORY | {"key": "-----BEGIN " + SECRET}}),
    (zkrecipes.Denied, "has expired", {"hosts": server("EXPIRED"), "tls": {"ca": FILES["ca"]}}),
    (zkrecipes.Denied, "self-signed", {"hosts": server("ALONE"), "tls": {"ca": FILES["ca"]}}),
    (zkrecipes.Denied, "for other hosts", {"hosts": server("ELSEWHERE"), "tls": {"ca": FILES["ca"]}}),
    (zkrecipes.Invalid, "tls.key", {"hosts": HOSTS, "tls": MEMORY | {"key": HEADLESS}}),
    (zkrecipes.Invalid, "tls.ca", {"hosts": HOSTS, "tls": {"ca": HEADLESS}}),
    (zkrecipes.Invalid, "has credentials", {"hosts": f"me:{SECRET}@zk.example.org:2181"}),
    (zkrecipes.Invalid, "SRV", {"hosts": "_zookeeper._tcp.example.org"}),
    (zkrecipes.Invalid, "ZKRECIPES_FORBID_EMBEDDED", {"hosts": "embedded:"}),
    (zkrecipes.Invalid, "allow_plaintext_auth", {"hosts": "zk.example.org", "auth": AUTH}),
    (zkrecipes.Invalid, "allow_plaintext_auth", {"hosts": "zk.example.org", "sasl": SASL}),
    (zkrecipes.Denied, "tls.allow_expired_crls", {"hosts": HOSTS, "tls": FILES | {"ca": f"{FOLDER}/old-lists.pem"}}),
]


def blocking() -> None:
    # What the owner holds can be neither deleted, nor queued for, nor asked for by whoever has no credentials.
    owner, stranger = zkrecipes.Client(PLAIN, sasl=SASL, auth=AUTH), zkrecipes.Client(PLAIN)
    with owner, stranger, owner.lock("/owned/lock") as held:
        theirs = stranger.lock("/owned/lock")
        for attempt in (
            lambda: stranger.nodes.delete(held.node),
            theirs.acquire,
            lambda: theirs.revoke(held.node, force_after=0),
        ):
            with pytest.raises(zkrecipes.Denied):
                attempt()
        held.verify()
    for options in GOOD:
        with zkrecipes.Client(**options) as client, client.lock("/secure/lock") as held:
            held.verify()
            print(client, held, file=sys.stderr)
    for kind, word, options in BAD:
        with pytest.raises(kind, match=word) as refused:
            zkrecipes.Client(**options)
        print(repr(refused.value), file=sys.stderr)


async def by_asyncio() -> None:
    owner, stranger = aio.Client(PLAIN, sasl=SASL, auth=AUTH), aio.Client(PLAIN)
    async with owner, stranger, owner.lock("/owned/lock") as held:
        theirs = stranger.lock("/owned/lock")
        for attempt in (
            lambda: stranger.nodes.delete(held.node),
            theirs.acquire,
            lambda: theirs.revoke(held.node, force_after=0),
        ):
            with pytest.raises(zkrecipes.Denied):
                await attempt()
        await held.verify()
    for options in GOOD:
        async with aio.Client(**options) as client, client.lock("/secure/lock") as held:
            await held.verify()
            print(client, held, file=sys.stderr)
    for kind, word, options in BAD:
        with pytest.raises(kind, match=word) as refused:
            await aio.Client.connect(**options)
        print(repr(refused.value), file=sys.stderr)


if sys.argv[1:] == ["aio"]:
    asyncio.run(by_asyncio())
else:
    blocking()
