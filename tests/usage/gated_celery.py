"""examples/python/celery, with work that the test holds up."""

import os

import gate
import tasks
import whole_messages  # noqa: F401

app = tasks.app
app.conf.broker_url = "filesystem://"
folders = {"data_folder_in": "queue", "data_folder_out": "queue", "control_folder": "control"}
app.conf.broker_transport_options = {**folders, "polling_interval": 0.05}
if "BEAT_SECONDS" in os.environ:
    app.conf.beat_schedule["report"]["schedule"] = float(os.environ["BEAT_SECONDS"])
tasks.write = gate.work
