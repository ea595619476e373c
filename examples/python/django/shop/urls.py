"""One view: the orders of one user wait for each other, in all processes on all machines."""

import zkrecipes
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path


def place(user: str, held: zkrecipes.Held) -> str:
    """The work. If it has several steps, look at `held.is_held` between them."""
    return f"done for {user}, with token {held.fencing_token}\n"


def order(request: HttpRequest, user: str) -> HttpResponse:
    try:
        with settings.ZOOKEEPER().lock(f"/users/{user}").hold(timeout=2) as held:
            return HttpResponse(place(user, held))
    except zkrecipes.Timeout:
        return HttpResponse("the user has an order under way\n", status=503)
    except zkrecipes.Lost:
        return HttpResponse("interrupted; look whether it was done\n", status=500)


urlpatterns = [path("users/<slug:user>/orders", order)]
