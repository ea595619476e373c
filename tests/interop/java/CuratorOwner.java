import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.VersionedValue;
import org.apache.curator.retry.RetryNTimes;
import org.apache.curator.retry.RetryOneTime;

/** Apache Curator's recipes, as they come. */
class CuratorOwner implements Peer.Owner {
    private final String name;
    private final CuratorFramework client;
    private final Map<String, InterProcessMutex> mutexes = new HashMap<>();
    private final Map<String, InterProcessReadWriteLock> readWriteLocks = new HashMap<>();
    private final Map<String, InterProcessSemaphoreV2> semaphores = new HashMap<>();
    private final Map<String, Deque<Collection<Lease>>> leases = new HashMap<>();
    /** How to end what leads. */
    private final Map<String, AutoCloseable> terms = new HashMap<>();
    private final CuratorGroups groups;
    private final CuratorBarriers barriers;
    private final CuratorQueues queues;
    private final CuratorServices services;

    CuratorOwner(String name, String hosts, int timeout) throws Exception {
        this.name = name;
        client = CuratorFrameworkFactory.newClient(hosts, timeout, 15_000, new RetryOneTime(100));
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection to " + hosts);
        }
        groups = new CuratorGroups(client);
        barriers = new CuratorBarriers(client);
        queues = new CuratorQueues(client);
        services = new CuratorServices(client);
    }

    @Override
    public boolean acquire(String kind, String path, Long millis, int wanted) throws Exception {
        if (kind.equals("election:latch")) {
            return latch(path, millis);
        }
        if (kind.equals("election:selector")) {
            return selector(path, millis);
        }
        if (!kind.startsWith("semaphore:")) {
            InterProcessLock lock = lock(kind, path);
            if (millis != null) {
                return lock.acquire(millis, TimeUnit.MILLISECONDS);
            }
            lock.acquire();
            return true;
        }
        int permits = Integer.parseInt(kind.substring("semaphore:".length()));
        InterProcessSemaphoreV2 semaphore =
            semaphores.computeIfAbsent(path, absent -> new InterProcessSemaphoreV2(client, path, permits));
        Collection<Lease> taken =
            millis == null ? semaphore.acquire(wanted) : semaphore.acquire(wanted, millis, TimeUnit.MILLISECONDS);
        if (taken == null) {
            return false;
        }
        leases.computeIfAbsent(path, absent -> new ArrayDeque<>()).push(taken);
        return true;
    }

    @Override
    public void release(String kind, String path) throws Exception {
        if (kind.startsWith("election:")) {
            terms.remove(path).close();
        } else if (kind.startsWith("semaphore:")) {
            semaphores.get(path).returnAll(leases.get(path).pop());
        } else {
            lock(kind, path).release();
        }
    }

    @Override
    public void revoke(String node) throws Exception {
        Revoker.attemptRevoke(client, node);
    }

    private boolean latch(String path, Long millis) throws Exception {
        LeaderLatch latch = new LeaderLatch(client, path, name);
        latch.start();
        if (millis == null) {
            latch.await();
        } else if (!latch.await(millis, TimeUnit.MILLISECONDS)) {
            latch.close();
            return false;
        }
        terms.put(path, latch);
        return true;
    }

    private boolean selector(String path, Long millis) throws Exception {
        CountDownLatch leads = new CountDownLatch(1);
        CountDownLatch ends = new CountDownLatch(1);
        LeaderSelector selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws Exception {
                leads.countDown();
                ends.await();
            }
        });
        selector.setId(name);
        selector.start();
        if (millis == null) {
            leads.await();
        } else if (!leads.await(millis, TimeUnit.MILLISECONDS)) {
            selector.close();
            return false;
        }
        terms.put(path, () -> {
            ends.countDown();
            selector.close();
        });
        return true;
    }

    @Override
    public List<String> candidates(String kind, String path) throws Exception {
        Collection<Participant> all;
        if (kind.equals("election:latch")) {
            all = new LeaderLatch(client, path, name).getParticipants();
        } else {
            all = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) {}
            }).getParticipants();
        }
        List<String> said = new ArrayList<>();
        for (Participant one : all) {
            said.add(one.getId() + (one.isLeader() ? "*" : ""));
        }
        return said;
    }

    @Override
    public long add(String kind, String path, long n) throws Exception {
        if (kind.equals("counter:atomic")) {
            DistributedAtomicLong counter = new DistributedAtomicLong(client, path, new RetryNTimes(100, 5));
            AtomicValue<Long> value = counter.add(n);
            if (!value.succeeded()) {
                throw new IllegalStateException("Curator gave up");
            }
            return value.postValue();
        }
        try (SharedCount counter = new SharedCount(client, path, 0)) {
            counter.start();
            while (true) {
                VersionedValue<Integer> now = counter.getVersionedValue();
                int next = Math.toIntExact(now.getValue() + n);
                if (counter.trySetCount(now, next)) {
                    return next;
                }
            }
        }
    }

    @Override
    public String obey(String verb, List<String> rest) throws Exception {
        switch (rest.get(0).split(":")[0]) {
            case "group":
                return groups.obey(verb, rest);
            case "service":
                return services.obey(verb, rest);
            case "barrier":
            case "double":
                return barriers.obey(verb, rest);
            default:
                return queues.obey(verb, rest);
        }
    }

    @Override
    public void close() {
        client.close();
    }

    private InterProcessLock lock(String kind, String path) {
        switch (kind) {
            case "lock":
                return mutexes.computeIfAbsent(path, absent -> mutex(path));
            case "read":
                return readWriteLock(path).readLock();
            case "write":
                return readWriteLock(path).writeLock();
            default:
                throw new IllegalArgumentException(kind + " is no kind");
        }
    }

    private InterProcessMutex mutex(String path) {
        return revocable(new InterProcessMutex(client, path), path);
    }

    private InterProcessReadWriteLock readWriteLock(String path) {
        return readWriteLocks.computeIfAbsent(path, absent -> {
            InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, path);
            revocable(lock.readLock(), path);
            revocable(lock.writeLock(), path);
            return lock;
        });
    }

    private <M extends InterProcessMutex> M revocable(M mutex, String path) {
        mutex.makeRevocable(asked -> Peer.say("event " + name + " revoked " + path));
        return mutex;
    }
}
