"""examples/python/gunicorn, with work that the test holds up."""

import application
import gate

application.place = gate.work
app = application.app
