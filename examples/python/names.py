"""Where the services are.

python names.py                  with a server inside this process
python names.py zk1:2181         with ZooKeeper; start it several times
"""

import sys

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    services = client.names("/examples/services")

    # Bound for as long as this client lives, over all its sessions; without `ephemeral`, until somebody unbinds it.
    try:
        services.bind("billing", "10.0.0.7:443", ephemeral=True)
    except zkrecipes.Exists:
        print("somebody else is the billing service already")
    print("billing is at", services.lookup("billing"))
    print("mail is at", services.lookup("mail"))

    # All of them, now and whenever that has changed.
    with services.watch() as feed:
        print(next(feed))
