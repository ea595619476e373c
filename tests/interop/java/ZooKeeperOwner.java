import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;
import org.apache.zookeeper.recipes.queue.DistributedQueue;

/** The lock and the queue that ship with ZooKeeper, as they come. */
class ZooKeeperOwner implements Peer.Owner {
    private static final long FOR_EVER = TimeUnit.DAYS.toMillis(1);
    private static final long AGAIN = 100;

    private final ZooKeeper client;
    private final Map<String, WriteLock> locks = new HashMap<>();

    ZooKeeperOwner(String hosts, int timeout) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        client = new ZooKeeper(hosts, timeout, event -> {
            if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        if (!connected.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("no connection to " + hosts);
        }
    }

    @Override
    public boolean acquire(String kind, String path, Long millis, int permits) throws Exception {
        CountDownLatch acquired = new CountDownLatch(1);
        WriteLock lock = locks.computeIfAbsent(path, absent -> new WriteLock(client, path, null));
        lock.setLockListener(new LockListener() {
            @Override
            public void lockAcquired() {
                acquired.countDown();
            }

            @Override
            public void lockReleased() {}
        });
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis == null ? FOR_EVER : millis);
        do {
            // Once is not enough: if the node ahead goes between this lock's list and its watch, nothing wakes it again.
            lock.lock();
            if (acquired.await(AGAIN, TimeUnit.MILLISECONDS)) {
                return true;
            }
        } while (System.nanoTime() < end);
        lock.unlock();
        return false;
    }

    @Override
    public void release(String kind, String path) throws Exception {
        untilToldOfAllBefore();
        locks.get(path).unlock();
    }

    /** An event that this lock is told of after it was unlocked makes it queue up again. */
    private void untilToldOfAllBefore() throws InterruptedException {
        CountDownLatch told = new CountDownLatch(1);
        client.exists("/", false, (code, path, context, stat) -> told.countDown(), null);
        told.await();
    }

    @Override
    public void revoke(String node) {
        throw new UnsupportedOperationException("these recipes cannot revoke");
    }

    @Override
    public String obey(String verb, List<String> rest) throws Exception {
        DistributedQueue queue = new DistributedQueue(client, rest.get(1), null);
        switch (verb) {
            case "put":
                queue.offer(rest.get(2).getBytes(UTF_8));
                return "";
            case "take":
                byte[] item = rest.get(2).equals("-") ? queue.take() : queue.poll();
                if (item == null) {
                    throw new IllegalStateException("TIMEOUT");
                }
                return new String(item, UTF_8);
            default:
                throw new IllegalArgumentException(verb + " is no verb of queues");
        }
    }

    @Override
    public void close() throws Exception {
        client.close();
    }
}
