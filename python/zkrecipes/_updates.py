# The bases say what the verbs answer when they block; here they answer a coroutine of it.
# mypy: disable-error-code="assignment,override"
"""Read, change, set if nobody has changed it meanwhile, else once more: `config.update` and `nodes.update`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from . import _native
from ._bridge import awaited, instead
from ._callbacks import awaited as answered
from ._callbacks import problem
from ._feeds import feeding
from ._values import Stat, Versioned

Data = bytes | str


def update_config(config: _native.Config, change: Callable[[bytes | None], Data]) -> Versioned:
    """`config.update(change)`"""
    check_change(change, on_a_loop=False)
    while True:
        before = config.get()
        made = _kept(change(before.value if before else None))
        if config.compare_and_set(made, before.version if before else None):
            return _set_after(before, made)


def update_node(nodes: _native.Nodes, path: str, change: Callable[[bytes], Data]) -> Stat:
    """`nodes.update(path, change)`"""
    check_change(change, on_a_loop=False)
    while True:
        data, stat = nodes.get(path)
        # Not in the `try`: what it raises is its caller's.
        made = change(data)
        try:
            return nodes.set(path, made, stat.version)
        except _native.BadVersion:
            pass


def check_change(change: object, *, on_a_loop: bool) -> None:
    if not callable(change):
        raise _native.InvalidType(f"change: must be callable, not {type(change).__name__}")
    if why := problem(change, on_a_loop):
        raise _native.InvalidType(f"change: {why}")


def _kept(made: Data) -> Data:
    # It may be changed while it is sent.
    return bytes(made) if isinstance(made, (bytearray, memoryview)) else made


def _set_after(before: Versioned | None, made: Data) -> Versioned:
    version = _native.version_after(before.version if before else None)
    return Versioned(made.encode() if isinstance(made, str) else bytes(made), version)


class Config(_native.ConfigBase):
    """A value that many follow. Made by `client.config(path)`."""

    # --- generated from api: verbs of Config for asyncio
    @instead(awaited(_native.ConfigBase.get))
    def get(self) -> None: ...
    @instead(awaited(_native.ConfigBase.set))
    def set(self) -> None: ...
    @instead(awaited(_native.ConfigBase.create))
    def create(self) -> None: ...
    @instead(awaited(_native.ConfigBase.compare_and_set))
    def compare_and_set(self) -> None: ...
    @instead(feeding(_native.ConfigBase.watch))
    def watch(self) -> None: ...

    # --- end of generated

    async def update(self, change: Callable[[bytes | None], Data | Awaitable[Data]]) -> Versioned:
        """Replaces the value by what `change`, which may be a coroutine function, returns for it; for None, where
        nobody has set it. If somebody sets it meanwhile, `change` is called again, with that value. Returns what was
        set. Each change is made once, also where an answer got lost; ConnectionLost: nobody can know whether it was
        made. What `change` raises sets nothing.
        """
        check_change(change, on_a_loop=True)
        while True:
            before = await self.get()
            made = _kept(await answered(change(before.value if before else None)))
            if await self.compare_and_set(made, before.version if before else None):
                return _set_after(before, made)
