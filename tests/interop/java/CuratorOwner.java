import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryOneTime;

/** Apache Curator's lock, read/write lock and semaphore, as they come. */
class CuratorOwner implements Peer.Owner {
    private final String name;
    private final CuratorFramework client;
    private final Map<String, InterProcessMutex> mutexes = new HashMap<>();
    private final Map<String, InterProcessReadWriteLock> readWriteLocks = new HashMap<>();
    private final Map<String, InterProcessSemaphoreV2> semaphores = new HashMap<>();
    private final Map<String, Deque<Collection<Lease>>> leases = new HashMap<>();

    CuratorOwner(String name, String hosts, int timeout) throws Exception {
        this.name = name;
        client = CuratorFrameworkFactory.newClient(hosts, timeout, 15_000, new RetryOneTime(100));
        client.start();
        if (!client.blockUntilConnected(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection to " + hosts);
        }
    }

    @Override
    public boolean acquire(String kind, String path, Long millis, int wanted) throws Exception {
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
        if (kind.startsWith("semaphore:")) {
            semaphores.get(path).returnAll(leases.get(path).pop());
        } else {
            lock(kind, path).release();
        }
    }

    @Override
    public void revoke(String node) throws Exception {
        Revoker.attemptRevoke(client, node);
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
