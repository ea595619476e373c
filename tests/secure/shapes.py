"""Certificates and keys of all shapes that people have: each works, or is refused in words that say what to do.

Before a real server stand fronts that speak TLS with Python's own (OpenSSL's) and show one certificate each; what the
library makes of them is the core's doing, so one face is enough. `shapes.py WORD…` tries those whose names have these
words, with the server of `ZKR_HOSTS`.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import zkrecipes

HERE = "subjectAltName=DNS:localhost,IP:127.0.0.1"
PASSPHRASE = "planted-passphrase"
LONG_AGO, LATER = ("20200101000000Z", "20200201000000Z"), ("20800101000000Z", "20810101000000Z")


# ---- making them


def openssl(*words: object, text: str | None = None) -> None:
    done = subprocess.run(["openssl", *map(str, words)], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(map(str, words))}:\n{done.stderr}")


KEYS = {
    "ec": ("EC", "ec_paramgen_curve:P-256"),
    "p384": ("EC", "ec_paramgen_curve:P-384"),
    "p521": ("EC", "ec_paramgen_curve:P-521"),
    "koblitz": ("EC", "ec_paramgen_curve:secp256k1"),
    "rsa": ("RSA", "rsa_keygen_bits:2048"),
    "short": ("RSA", "rsa_keygen_bits:1024"),
    "ed": ("ED25519", None),
}


class Shop:
    """Makes certificates in a folder; a name is NAME.pem and NAME.key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str) -> str:
        return str(self.folder / name)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()

    def write(self, name: str, content: str | bytes) -> str:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def key(self, name: str, kind: str = "ec") -> None:
        algorithm, option = KEYS[kind]
        pkeyopt = ("-pkeyopt", option) if option else ()
        openssl("genpkey", "-algorithm", algorithm, *pkeyopt, "-out", self(f"{name}.key"))

    def make(
        self,
        name: str,
        signer: str | None = "root",
        use: str = HERE,
        *,
        kind: str = "ec",
        days: tuple[str, str] | None = None,
        digest: str = "sha256",
        serial: str | None = None,
    ) -> None:
        self.key(name, kind)
        config = self.write(f"{name}.cnf", CONFIG.format(folder=self.folder, name=name, use=use))
        self.write(f"{name}.index", "")
        until = ("-startdate", days[0], "-enddate", days[1]) if days else ("-days", "30")
        request = self(f"{name}.csr")
        openssl("req", "-new", "-key", self(f"{name}.key"), "-subj", f"/CN={name}", "-config", config, "-out", request)
        signed = ("-selfsign",) if signer is None else ("-cert", self(f"{signer}.pem"))
        if serial:
            self.write(f"{name}.serial", serial)
        openssl(
            "ca", "-batch", "-notext", "-config", config, *(("-extensions", "use") if use else ()), "-md",
            "null" if kind == "ed" and signer is None else digest, "-in", request, *signed,
            "-keyfile", self(f"{signer or name}.key"), "-out", self(f"{name}.pem"), *until,
            *(() if serial else ("-rand_serial",)),
        )  # fmt: skip

    def revoke(
        self,
        signer: str,
        names: Sequence[str],
        *,
        is_old: bool = False,
        until: Sequence[str] = ("-crldays", "30"),
    ) -> str:
        """A list of what is revoked, of version 2 unless it is to be old."""
        numbered = (
            "crlnumber={folder}/{name}.number\ncrl_extensions=list\n[list]\nauthorityKeyIdentifier=keyid:always\n"
        )
        text = CONFIG + ("" if is_old else numbered)
        config = self.write(f"{signer}-list.cnf", text.format(folder=self.folder, name=f"{signer}-list", use=""))
        self.write(f"{signer}-list.index", "")
        self.write(f"{signer}-list.number", "01\n")
        common = ("-config", config, "-cert", self(f"{signer}.pem"), "-keyfile", self(f"{signer}.key"))
        for name in names:
            openssl("ca", *common, "-md", "sha256", "-revoke", self(f"{name}.pem"))
        openssl("ca", *common, "-md", "sha256", "-gencrl", *until, "-out", self(f"{signer}.crl"))
        return self.read(f"{signer}.crl")


CONFIG = """\
[req]
distinguished_name=name
[name]
[ca]
default_ca=it
[any]
commonName=supplied
[use]
{use}
[it]
database={folder}/{name}.index
new_certs_dir={folder}
serial={folder}/{name}.serial
policy=any
unique_subject=no
"""

AUTHORITY = "basicConstraints=critical,CA:true"


def stock(shop: Shop) -> None:
    """All that is made by openssl."""
    for name in ("root", "stranger"):
        shop.make(name, None, AUTHORITY)
    shop.make("rsaroot", None, AUTHORITY, kind="rsa")
    shop.make("middle", "root", AUTHORITY)
    shop.make("no-authority", "root", "basicConstraints=CA:false")
    for kind in KEYS:
        shop.make(kind, kind=kind)
    shop.make("byrsa", "rsaroot")
    shop.make("chained", "middle")
    shop.make("astray", "no-authority")
    shop.make("forged", "stranger")
    shop.make("address", use="subjectAltName=IP:127.0.0.1")
    shop.make("named", use="subjectAltName=DNS:localhost")
    shop.make("nameless", use="basicConstraints=CA:false")
    shop.make("expired", days=LONG_AGO)
    shop.make("early", days=LATER)
    shop.make("alone", None)
    shop.make("own-authority", None, f"{AUTHORITY}\n{HERE}")
    shop.make("for-clients", use=f"{HERE}\nextendedKeyUsage=clientAuth")
    shop.make("sha1", digest="sha1")
    shop.make("revoked")
    for name in ("me", "rsame"):
        shop.make(name, use="basicConstraints=CA:false", kind="rsa" if name == "rsame" else "ec")
    shop.make("edme", use="basicConstraints=CA:false", kind="ed")
    shop.make("me-chained", "middle", "basicConstraints=CA:false")
    shop.make("me-expired", use="basicConstraints=CA:false", days=LONG_AGO)
    shop.make("me-forged", "stranger", "basicConstraints=CA:false")


# ---- servers


@dataclass
class Front:
    """Speaks TLS before a server, and shows a certificate."""

    certificate: str
    chain: Sequence[str] = ()
    asks: bool = False
    most: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    least: ssl.TLSVersion = ssl.TLSVersion.TLSv1
    port: int = 0

    def context(self, shop: Shop) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # What OpenSSL finds too weak is ours to refuse.
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version, context.maximum_version = self.least, self.most
        shown = "".join(shop.read(f"{name}.pem") for name in (self.certificate, *self.chain))
        name = "-".join((self.certificate, *self.chain, "shown.pem"))
        context.load_cert_chain(shop.write(name, shown), shop(f"{self.certificate}.key"))
        if self.asks:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(shop("root.pem"))
        return context


FRONTS = {
    **{kind: Front(kind) for kind in KEYS},
    "byrsa": Front("byrsa"),
    "chained": Front("chained", ["middle"]),
    "half": Front("chained"),
    "astray": Front("astray", ["no-authority"]),
    **{
        name: Front(name)
        for name in (
            "forged", "address", "named", "nameless", "expired", "early", "alone", "own-authority", "for-clients",
            "sha1", "revoked",
        )
    },
    "asks": Front("ec", asks=True),
    "asks12": Front("ec", asks=True, most=ssl.TLSVersion.TLSv1_2),
    "tls12": Front("ec", most=ssl.TLSVersion.TLSv1_2),
    "tls13": Front("ec", least=ssl.TLSVersion.TLSv1_3),
    "tls11": Front("ec", most=ssl.TLSVersion.TLSv1_1),
}  # fmt: skip


def passed_on(near: ssl.SSLSocket, behind: tuple[str, int]) -> None:
    """One connection, from its handshake to its end."""
    with near:
        try:
            near.do_handshake()
        except OSError:
            # What OpenSSL has to say is on its way, and is lost if we close before the other side has stopped talking.
            near.shutdown(socket.SHUT_WR)
            while near.recv(1 << 16):
                pass
            return
        with socket.create_connection(behind) as far:
            while True:
                ready: list[socket.socket] = [near] if near.pending() else select.select([near, far], [], [])[0]
                for source in ready:
                    data = source.recv(1 << 16)
                    if not data:
                        return
                    (far if source is near else near).sendall(data)


def opened(front: Front, shop: Shop, behind: tuple[str, int]) -> None:
    context, listener = front.context(shop), socket.create_server(("127.0.0.1", 0))
    front.port = listener.getsockname()[1]

    def one(connection: socket.socket) -> None:
        # Whoever breaks off is not told here.
        with contextlib.suppress(OSError):
            near = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            passed_on(near, behind)

    def forever() -> None:
        while True:
            threading.Thread(target=one, args=[listener.accept()[0]], daemon=True).start()

    threading.Thread(target=forever, daemon=True).start()


# ---- what is tried


@dataclass
class Case:
    """A client: to which front, what it trusts and shows, and the words of the refusal, if it is one."""

    name: str
    front: str = "ec"
    ca: str = "root.pem"
    me: tuple[str, str] | None = None
    words: Sequence[str] = ()
    kind: type[zkrecipes.Error] = zkrecipes.Denied
    host: str = "127.0.0.1"
    options: dict[str, object] = field(default_factory=dict)

    def trial(self, shop: Shop) -> str | None:
        """What is wrong, if anything is. Once by files, and once by what is in them."""

        def content(name: str) -> str:
            try:
                return shop.read(name)
            except (OSError, UnicodeDecodeError):
                return shop(name)

        for given in (shop, content):
            tls: dict[str, object] = {"ca": given(self.ca), **self.options}
            if self.me:
                tls |= {"cert": given(self.me[0]), "key": given(self.me[1])}
            problem = self.attempt(tls)
            if problem:
                return f"{self.name}{'' if given is shop else ' (from memory)'}: {problem}"
        return None

    def attempt(self, tls: dict[str, object]) -> str | None:
        hosts = f"{self.host}:{FRONTS[self.front].port}"
        try:
            with zkrecipes.Client(hosts, tls=tls) as client:  # type: ignore[arg-type]
                client.nodes.exists("/")
        except zkrecipes.Error as error:
            said = str(error)
            print(f"{self.name}: {said}", file=sys.stderr)
            if not self.words:
                return f"is refused: {said}"
            if type(error) is not self.kind:
                return f"is a {type(error).__name__}: {said}"
            missing = [word for word in self.words if word not in said]
            if PASSPHRASE in said:
                return f"repeats a passphrase: {said}"
            return f"lacks {missing}: {said}" if missing else None
        return "is taken" if self.words else None


def cases(shop: Shop) -> list[Case]:
    """Also makes what openssl does not."""
    bad = zkrecipes.Invalid
    root, me, key = shop.read("root.pem"), shop.read("me.pem"), shop.read("me.key")
    # What people do to files.
    crlf = shop.write("crlf.pem", root.replace("\n", "\r\n")) and "crlf.pem"
    shop.write("crlf-me.pem", me.replace("\n", "\r\n"))
    shop.write("crlf-me.key", key.replace("\n", "\r\n"))
    shop.write(
        "many.pem", "# ours\n" + shop.read("stranger.pem") + "\n\nroot of all\n" + root + shop.read("rsaroot.pem")
    )
    shop.write("endless.pem", root.rstrip("\n"))
    shop.write("marked.pem", b"\xef\xbb\xbf" + root.encode())
    shop.write("cut.pem", root[: len(root) // 2])
    shop.write("bent.pem", root.replace("M", "!", 1))
    shop.write("empty.pem", "")
    shop.write("both.pem", me + key)
    shop.write("full.pem", shop.read("me-chained.pem") + shop.read("middle.pem"))
    shop.write("list.pem", root + shop.revoke("root", ["revoked"]))
    passed = ("-crl_lastupdate", LONG_AGO[0], "-crl_nextupdate", LONG_AGO[1])
    shop.write("stale.pem", root + shop.revoke("root", ["revoked"], until=passed))
    shop.write("old-list.pem", root + shop.revoke("root", ["revoked"], is_old=True))
    for name in ("root", "me"):
        openssl("x509", "-in", shop(f"{name}.pem"), "-outform", "DER", "-out", shop(f"{name}.der"))
    openssl("pkey", "-in", shop("me.key"), "-outform", "DER", "-out", shop("me.key.der"))
    openssl("pkey", "-in", shop("me.key"), "-pubout", "-out", shop("me.pub"))
    openssl("pkcs12", "-export", "-in", shop("me.pem"), "-inkey", shop("me.key"), "-passout", f"pass:{PASSPHRASE}",
            "-out", shop("me.p12"))  # fmt: skip
    openssl("pkcs8", "-topk8", "-in", shop("me.key"), "-passout", f"pass:{PASSPHRASE}", "-out", shop("locked.key"))
    openssl("rsa", "-in", shop("rsame.key"), "-traditional", "-aes256", "-passout", f"pass:{PASSPHRASE}",
            "-out", shop("locked-rsa.key"))  # fmt: skip
    openssl("rsa", "-in", shop("rsame.key"), "-traditional", "-out", shop("pkcs1.key"))
    openssl("ec", "-in", shop("me.key"), "-out", shop("sec1.key"))
    openssl("ecparam", "-name", "prime256v1", "-out", shop("parameters"))
    shop.write("sec1-with-parameters.key", shop.read("parameters") + shop.read("sec1.key"))
    shop.write(
        "openssh.key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n"
    )

    def shown(name: str, cert: str, key: str, front: str = "asks", **more: object) -> Case:
        return Case(name, front, me=(cert, key), **more)  # type: ignore[arg-type]

    return [
        # servers
        Case("a key on P-256"),
        Case("a key on P-384", "p384"),
        Case("a key on P-521", "p521"),
        Case("an RSA key", "rsa"),
        Case("an Ed25519 key", "ed"),
        Case("an authority with an RSA key", "byrsa", "rsaroot.pem"),
        Case("a key on secp256k1", "koblitz", words=["no TLS with 127.0.0.1"]),
        Case("a short RSA key", "short", words=["2048 bits"]),
        Case("a signature with SHA-1", "sha1", words=["signed with", "SHA-256"]),
        Case("a chain", "chained"),
        Case("a chain that is trusted from its middle on", "chained", "middle.pem"),
        Case("a chain without its middle", "half", words=["signed by an authority", "tls.ca", "in between"]),
        Case("a middle that is trusted and not shown", "half", "middle.pem"),
        Case("a middle that is no authority", "astray", words=["no authority"]),
        Case("a certificate of strangers", "forged", words=["signed by an authority that is not in tls.ca"]),
        Case("an address", "address"),
        Case(
            "an address, by name", "address", host="localhost", words=["for other hosts (127.0.0.1)", "verify_hostname"]
        ),
        Case("a name", "named", host="localhost"),
        Case("a name, by address", "named", words=["for other hosts (localhost)", "verify_hostname"]),
        Case("a name, by address, where names do not count", "named", options={"verify_hostname": False}),
        Case("a common name alone", "nameless", words=["subjectAltName", "common name", "verify_hostname"]),
        Case("a common name alone, where names do not count", "nameless", options={"verify_hostname": False}),
        Case("an expired one", "expired", words=["has expired", "days ago"]),
        Case("one that is not valid yet", "early", words=["is valid in", "days only", "clock"]),
        Case(
            "an expired one, where names do not count", "expired", words=["expired"], options={"verify_hostname": False}
        ),
        Case("a self-signed one", "alone", words=["self-signed", "tls.ca"]),
        Case("a self-signed one that is trusted", "alone", "alone.pem"),
        Case(
            "an authority that is a server", "own-authority", "own-authority.pem", words=["CA:TRUE", "basicConstraints"]
        ),
        Case("one for clients", "for-clients", words=["for servers", "extendedKeyUsage"]),
        Case("one that is revoked", "revoked", "list.pem", words=["revoked"]),
        Case("one that is not revoked", "ec", "list.pem"),
        Case("a list whose time has passed", "ec", "stale.pem", words=["passed", "tls.allow_expired_crls"]),
        Case(
            "a list whose time has passed, where that is allowed",
            "ec",
            "stale.pem",
            options={"allow_expired_crls": True},
        ),
        Case(
            "one that is revoked by a list whose time has passed, where that is allowed",
            "revoked",
            "stale.pem",
            words=["was revoked"],
            options={"allow_expired_crls": True},
        ),
        Case("an old list", ca="old-list.pem", kind=bad, words=["tls.ca", "revocation list", "version 2"]),
        Case("a chain whose middle has no list", "chained", "list.pem", words=["revo", "list", "tls.ca"]),
        Case("TLS 1.2", "tls12"),
        Case("TLS 1.3", "tls13"),
        Case("TLS 1.1", "tls11", words=["1.2 or 1.3"]),
        # what is trusted
        Case("lines that end as on Windows", ca=crlf),
        Case("several authorities", ca="many.pem"),
        Case("several authorities, another one", "byrsa", "many.pem"),
        Case("no line break at the end", ca="endless.pem"),
        Case("a mark before the text", ca="marked.pem"),
        Case("half a file", ca="cut.pem", kind=bad, words=["tls.ca", "no end"]),
        Case("a file that was damaged", ca="bent.pem", kind=bad, words=["tls.ca"]),
        Case("an empty file", ca="empty.pem", kind=bad, words=["tls.ca"]),
        Case("a DER file", ca="root.der", kind=bad, words=["tls.ca", "root.der", "PEM", "openssl x509 -inform DER"]),
        Case("no file", ca="nowhere.pem", kind=bad, words=["tls.ca", "nowhere.pem", "No such file"]),
        Case("a folder", ca=".", kind=bad, words=["tls.ca", "cannot be read"]),
        Case("a key for an authority", ca="me.key", kind=bad, words=["tls.ca", "no certificate"]),
        # who we are
        shown("PKCS#8, EC", "me.pem", "me.key"),
        shown("PKCS#8, EC, with TLS 1.2", "me.pem", "me.key", "asks12"),
        shown("PKCS#8, RSA", "rsame.pem", "rsame.key"),
        shown("PKCS#8, Ed25519", "edme.pem", "edme.key"),
        shown("PKCS#1", "rsame.pem", "pkcs1.key"),
        shown("SEC1", "me.pem", "sec1.key"),
        shown("SEC1 behind its parameters", "me.pem", "sec1-with-parameters.key"),
        shown("lines that end as on Windows, shown", "crlf-me.pem", "crlf-me.key"),
        shown("both in one file", "both.pem", "both.pem"),
        shown("a chain, shown", "full.pem", "me-chained.key"),
        shown(
            "a chain without its middle, shown",
            "me-chained.pem",
            "me-chained.key",
            words=["our certificate", "tls.cert"],
        ),
        shown("an expired one, shown", "me-expired.pem", "me-expired.key", words=["our certificate has expired"]),
        shown("a stranger's, shown", "me-forged.pem", "me-forged.key", words=["our certificate", "authorities"]),
        shown(
            "a stranger's, shown, with TLS 1.2", "me-forged.pem", "me-forged.key", "asks12", words=["our certificate"]
        ),
        Case("none, shown", "asks", words=["tls.cert and tls.key"]),
        Case("none, shown, with TLS 1.2", "asks12", words=["tls.cert"]),
        shown(
            "a key with a passphrase", "me.pem", "locked.key", kind=bad, words=["tls.key", "encrypted", "openssl pkey"]
        ),
        shown("an RSA key with a passphrase", "rsame.pem", "locked-rsa.key", kind=bad, words=["tls.key", "encrypted"]),
        shown("another key", "me.pem", "rsame.key", kind=bad, words=["tls.key", "tls.cert"]),
        shown("the wrong way round", "me.key", "me.pem", kind=bad, words=["tls."]),
        shown("a public key", "me.pem", "me.pub", kind=bad, words=["tls.key", "no private key"]),
        shown("OpenSSH's key", "me.pem", "openssh.key", kind=bad, words=["tls.key", "OpenSSH"]),
        shown("a DER key", "me.pem", "me.key.der", kind=bad, words=["tls.key", "PEM", "openssl pkey -inform DER"]),
        shown("a DER certificate", "me.der", "me.key", kind=bad, words=["tls.cert", "openssl x509 -inform DER"]),
        shown("PKCS#12", "me.p12", "me.p12", kind=bad, words=["tls.cert", "openssl pkcs12"]),
    ]


def main() -> int:
    hosts = os.environ.get("ZKR_HOSTS") or os.environ["ZKR_SECURE_OPEN"]
    host, _, port = hosts.split(",")[0].rpartition(":")
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(Path(folder))
        stock(shop)
        # Old versions of TLS are to be refused by us.
        warnings.simplefilter("ignore", DeprecationWarning)
        for front in FRONTS.values():
            opened(front, shop, (host, int(port)))
        chosen = [case for case in cases(shop) if all(word in case.name for word in sys.argv[1:])]
        with ThreadPoolExecutor(8) as several:
            wrong = [problem for problem in several.map(lambda case: case.trial(shop), chosen) if problem]
    print(*wrong, sep="\n")
    print(f"{len(chosen) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
