"""Takes a lock, in a forked child too, then has a command take it: lock.py HOSTS [COMMAND]."""

import os
import subprocess
import sys

import zkrecipes
from zkrecipes.testing import EmbeddedServer

assert "site-packages" in zkrecipes.__file__, zkrecipes.__file__


def take(hosts: str) -> None:
    with zkrecipes.Client(hosts) as client:
        with client.lock("/elsewhere/python") as held:
            assert held.is_held
        if not hasattr(os, "fork"):
            return
        # A child can connect whose parent has.
        child = os.fork()
        if child == 0:
            with zkrecipes.Client(hosts) as own:
                os._exit(0 if own.lock("/elsewhere/python").acquire() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main(hosts: str, *command: str) -> None:
    if hosts == "embedded:":
        with EmbeddedServer() as server:
            main(server.connect_string, *command)
        return
    take(hosts)
    print("python", sys.version.split()[0], zkrecipes.version())
    if command:
        program = [sys.executable, "-c", "import os; assert int(os.environ['ZKR_FENCING_TOKEN']) > 0"]
        subprocess.run([*command, "--hosts", hosts, "lock", "/elsewhere/python", "--", *program], check=True)
        print("command", *command)


main(*sys.argv[1:])
