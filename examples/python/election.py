"""Of all who run this, one at a time leads.

python election.py                  with a server inside this process
python election.py zk1:2181         with ZooKeeper; start it several times
"""

import shutil
import sys

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:
    # Of all who stand the one with the highest priority leads.
    election = client.election("/examples/leader", "10.0.0.7:80", priority=1)

    # One term: it stands, leads, and resigns on any exit.
    with election.campaign() as leadership:
        leadership.acknowledge("10.0.0.7:80, ready")
        print(f"leading in epoch {leadership.epoch}:", election.leader())

    # The same for a function.
    @election.leading
    def tidy_up(leadership: zkrecipes.Leadership, what: str) -> None:
        print(f"tidying up {what} with fencing token {leadership.fencing_token}")

    tidy_up("the attic")

    # Term after term, until it is cancelled. Without room on its disk it does not stand.
    terms = []

    def healthy() -> bool:
        return shutil.disk_usage("/").free > 1_000_000

    def work(leadership: zkrecipes.Leadership) -> None:
        terms.append(leadership.epoch)
        print(f"term {len(terms)}, epoch {leadership.epoch}")
        if len(terms) == 3:
            election.cancel()

    election.run(work, healthy=healthy)

    # Who leads, now and whenever that changes; whether or not one stands.
    with election.observe() as leaders:
        for leader in leaders:
            print("led by", leader.identity if leader else "nobody")
            break
