#!/usr/bin/env python3
"""Certificates for the tests, made by openssl into a folder: `certificates.py DIR`.

Each name is NAME.pem and NAME.key; servers need both in one file, which is NAME.both.

    ca, other       two authorities; the servers trust the first
    server          for localhost and 127.0.0.1, signed by ca
    middle, chained the same with an authority in between, which it shows as well, and with a key of RSA
    client          signed by ca
    stranger        a client's, signed by other
    expired, elsewhere, alone
                    servers' whose time is over, that are for another host, that are signed by nobody

`lists.pem` is ca with the revocation lists of ca and middle, which revoke nothing; in `old-lists.pem` their time has
passed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = "DNS:localhost,IP:127.0.0.1"
LONG_AGO = ("20200101000000Z", "20200201000000Z")

# name: (who signs it, what it is for, first and last day)
CERTIFICATES = {
    "ca": (None, "basicConstraints=critical,CA:true", None),
    "other": (None, "basicConstraints=critical,CA:true", None),
    "server": ("ca", f"subjectAltName={HERE}", None),
    "middle": ("ca", "basicConstraints=critical,CA:true", None),
    "chained": ("middle", f"subjectAltName={HERE}", None),
    "client": ("ca", "basicConstraints=CA:false", None),
    "stranger": ("other", "basicConstraints=CA:false", None),
    "expired": ("ca", f"subjectAltName={HERE}", LONG_AGO),
    "elsewhere": ("ca", "subjectAltName=DNS:zk.example.org", None),
    "alone": (None, f"subjectAltName={HERE}", None),
}


def make(folder: Path) -> Path:
    """The folder, with all certificates in it; made once."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        try:
            for name, (signer, use, days) in CERTIFICATES.items():
                _make(partial, name, signer, use, days)
            _list(partial, "lists", ("-crldays", "30"))
            _list(partial, "old-lists", ("-crl_lastupdate", LONG_AGO[0], "-crl_nextupdate", LONG_AGO[1]))
            partial.rename(folder)  # atomic: the folder exists only when it is complete
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def _make(folder: Path, name: str, signer: str | None, use: str, days: tuple[str, str] | None) -> None:
    key, pem = folder / f"{name}.key", folder / f"{name}.pem"
    kind = ("RSA", "rsa_keygen_bits:2048") if name == "chained" else ("EC", "ec_paramgen_curve:P-256")
    _openssl("genpkey", "-algorithm", kind[0], "-pkeyopt", kind[1], "-out", key)
    if signer is None:
        _openssl("req", "-x509", "-new", "-key", key, "-subj", f"/CN={name}", "-days", 30, "-out", pem,
                 "-config", _config(folder, use), "-extensions", "use")  # fmt: skip
    else:
        request = folder / f"{name}.csr"
        _openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request, "-config", _config(folder, use))
        (folder / "index").write_text("")
        until = ("-startdate", days[0], "-enddate", days[1]) if days else ("-days", 30)
        _openssl("ca", "-batch", "-notext", "-config", _config(folder, use), "-extensions", "use", "-in", request,
                 "-cert", folder / f"{signer}.pem", "-keyfile", folder / f"{signer}.key",
                 "-out", pem, *until)  # fmt: skip
    if signer not in (None, "ca", "other"):
        pem.write_text(pem.read_text() + (folder / f"{signer}.pem").read_text())
    (folder / f"{name}.both").write_text(pem.read_text() + key.read_text())


def _list(folder: Path, name: str, until: tuple[str, ...]) -> None:
    lists = []
    (folder / "index").write_text("")
    for signer in ("ca", "middle"):
        (folder / "number").write_text("01\n")
        config = _config(folder, "authorityKeyIdentifier=keyid:always")
        made = folder / f"{signer}.crl"
        _openssl("ca", "-gencrl", "-config", config, "-crlexts", "use", "-cert", folder / f"{signer}.pem",
                 "-keyfile", folder / f"{signer}.key", "-out", made, *until)  # fmt: skip
        lists.append(made.read_text())
    (folder / f"{name}.pem").write_text("".join([(folder / "ca.pem").read_text(), *lists]))


def _config(folder: Path, use: str) -> Path:
    config = folder / "openssl.cnf"
    config.write_text(
        "[req]\ndistinguished_name=name\n[name]\n"
        f"[ca]\ndefault_ca=it\n[it]\ndatabase={folder}/index\nnew_certs_dir={folder}\nrand_serial=yes\ndefault_md=sha256\npolicy=any\n"
        f"unique_subject=no\ncrlnumber={folder}/number\n[any]\ncommonName=supplied\n[use]\n{use}\n"
    )
    return config


def _openssl(*words: object) -> None:
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(map(str, words))}:\n{done.stderr}")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
