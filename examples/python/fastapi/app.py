"""FastAPI: one client for the application, and the orders of one user one after the other, in all its processes.

uvicorn app:app
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import FastAPI, HTTPException, Path, Request
from zkrecipes import aio


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Each worker process of uvicorn or gunicorn comes by here, after the fork."""
    async with aio.Client() as app.state.zookeeper:  # ZKRECIPES_HOSTS
        yield


app = FastAPI(lifespan=lifespan)


async def place(user: str, token: int) -> None:
    """The work, which is cancelled when the lock is lost."""


@app.post("/users/{user}/orders")
async def order(user: Annotated[str, Path(pattern=r"^[\w-]{1,64}$")], request: Request) -> dict[str, object]:
    client: aio.Client = request.app.state.zookeeper
    try:
        async with client.lock(f"/users/{user}", cancel_on_lost=True).hold(timeout=2) as held:
            await place(user, held.fencing_token)
            return {"user": user, "token": held.fencing_token}
    except aio.Timeout:
        raise HTTPException(503, "the user has an order under way") from None
    except aio.Lost:
        raise HTTPException(500, "the order was interrupted; look whether it was placed") from None
