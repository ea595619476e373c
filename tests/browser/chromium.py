"""Chromium without a window, driven over its pipe: no port that others could reach, and no package besides."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

SOON = 60.0


class Page:
    """One page, in a browser of its own."""

    def __init__(self, url: str) -> None:
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if program is None:
            raise FileNotFoundError("chromium is missing; scripts/setup installs it")
        self._profile = tempfile.mkdtemp(prefix="zkrecipes-chromium-")
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        words = [
            program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._profile}",
            "about:blank",
        ]
        # It reads from 3 and writes to 4, which may be something else here.
        spare = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs_in, theirs_out)]

        def plug() -> None:
            for fd, number in zip(spare, (3, 4), strict=True):
                os.dup2(fd, number)

        self._process = subprocess.Popen(
            words,
            preexec_fn=plug,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (theirs_in, theirs_out, *spare):
            os.close(fd)
        self._rest = b""
        self._number = 0
        self.messages: list[str] = []
        """What the page wrote to the console, and what it was refused."""
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.requests: list[str] = []
        """The addresses that the page has asked."""
        self.ask("Page.navigate", url=url)

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Has the browser do something, and waits for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._in, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self._rest += more
        one, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(one)
        parameters = message.get("params", {})
        if message.get("method") == "Log.entryAdded":
            self.messages.append(parameters["entry"]["text"])
        elif message.get("method") == "Runtime.consoleAPICalled":
            self.messages.append(str([argument.get("value") for argument in parameters["args"]]))
        elif message.get("method") == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(parameters["exceptionDetails"]))
        elif message.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        return message

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, script: str) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + SOON
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{script} did not come true; the page says: {self.run('document.body.innerText')}")
            time.sleep(0.05)

    def look(self, width: int, height: int, dark: bool = False) -> None:
        """Has a screen of that size from now on, in that light."""
        phone = width < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file: Path) -> bytes:
        """What is seen, as PNG, also into a file."""
        bytes_ = base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes_)
        return bytes_
