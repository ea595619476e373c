"""An order that stock and bank both carry out, or neither.

python two_phase_commit.py                  with a server inside this process
python two_phase_commit.py zk1:2181         with ZooKeeper
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import zkrecipes

hosts = sys.argv[1] if len(sys.argv) > 1 else "embedded:"

with zkrecipes.Client(hosts) as client:

    def site(name: str, chairs: int) -> str:
        commits = client.two_phase_commit("/examples/orders")
        commits.join(name)
        # After a restart, `pending()` tells what this site was asked before.
        try:
            proposal = commits.next(timeout=5)
        except zkrecipes.Timeout:
            # It was aborted before we were asked.
            commits.leave()
            return f"{name}: not asked"
        try:
            if int(proposal.payload) <= chairs:
                # From here on it must be possible, also after a crash.
                proposal.vote_commit()
            else:
                proposal.vote_abort(f"only {chairs} chairs")
        except zkrecipes.Timeout:
            # It was decided without us.
            pass
        outcome = proposal.outcome()
        proposal.acknowledge()
        commits.leave()
        return f"{name}: {outcome}"

    coordinator = client.two_phase_commit("/examples/orders")
    for number, chairs in enumerate(("3", "30")):
        order = coordinator.begin(f"order-{number}", ["stock", "bank"], chairs, timeout=30)
        with ThreadPoolExecutor() as pool:
            done = [pool.submit(site, "stock", 10), pool.submit(site, "bank", 100)]
            print(f"{chairs} chairs: {order.outcome()}", [one.result() for one in done])
