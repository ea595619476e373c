"""python manage.py nightly of examples/python/django, with work that the test holds up."""

import os
import sys

import gate
import shop.management.commands.nightly
from django.core.management import execute_from_command_line

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
shop.management.commands.nightly.archive = gate.work
execute_from_command_line([sys.argv[0], "nightly"])
