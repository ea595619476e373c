"""Pays cents from the bank's account into the shop's, or back if they are negative.

python pay.py 500 zk1:2181        bank.py and shop.mjs are running, or are started later
"""

import json
import sys
import uuid

import zkrecipes

cents, hosts = int(sys.argv[1]), sys.argv[2]

with zkrecipes.Client(hosts) as client:
    payments = client.two_phase_commit("/payments")
    # What another one had begun when it was killed.
    for earlier in payments.recover():
        print("recovered", earlier.id)
        print(earlier.outcome(), earlier.id)
    payment = uuid.uuid4().hex
    payload = json.dumps({"bank": -cents, "shop": cents})
    print("paying", payment)
    transaction = payments.begin(payment, ["bank", "shop"], payload, timeout=10)
    print("begun", payment)
    print(transaction.outcome(), payment)
