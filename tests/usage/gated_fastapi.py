"""examples/python/fastapi, with work that the test holds up."""

import app as example
import gate

example.place = gate.aio_work
app = example.app
