import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/**
 * Curator among the others: the words of drivers for a lock, with Curator's own one. What it says that it holds is not
 * certain, so the checker believes nothing of it but its guarded writes.
 */
public class CuratorDriver {
    private static final int PATIENCE = 30;

    private static final Map<String, CuratorFramework> clients = new ConcurrentHashMap<>();
    private static final Map<String, Mutex> mutexes = new ConcurrentHashMap<>();
    /** A mutex belongs to a thread, so each client has one. */
    private static final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private static final ScheduledExecutorService watchdog = Executors.newSingleThreadScheduledExecutor();

    /** One that tells its node. */
    private static class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        String node() {
            return getLockPath();
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            List<String> words = Arrays.asList(line.split(" "));
            threads.computeIfAbsent(words.get(1), name -> Executors.newSingleThreadExecutor())
                .execute(() -> answer(words));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void answer(List<String> words) {
        // Only another process helps one that waits for ever.
        ScheduledFuture<?> hanging =
            watchdog.schedule(() -> Runtime.getRuntime().halt(3), PATIENCE, TimeUnit.SECONDS);
        String said;
        try {
            said = perform(words.get(1), words.get(2), words.subList(3, words.size()));
        } catch (KeeperException.NodeExistsException error) {
            said = "error EXISTS";
        } catch (Exception error) {
            said = "error " + error.getClass().getSimpleName();
        } finally {
            hanging.cancel(false);
        }
        synchronized (System.out) {
            System.out.println((words.get(0) + " " + said).strip());
            System.out.flush();
        }
    }

    private static String perform(String who, String verb, List<String> rest) throws Exception {
        if (verb.equals("connect")) {
            CuratorFramework made =
                CuratorFrameworkFactory.newClient(rest.get(0), 4_000, 5_000, new RetryOneTime(100));
            made.start();
            if (!made.blockUntilConnected(15, TimeUnit.SECONDS)) {
                made.close();
                return "error CONNECTION_LOST";
            }
            clients.put(who, made);
            return "ok";
        }
        CuratorFramework client = clients.get(who);
        Mutex mutex = rest.isEmpty() ? null : mutexes.get(who + " " + rest.get(0));
        switch (verb) {
            case "session":
                return "ok " + client.getZookeeperClient().getZooKeeper().getSessionId();
            case "lock":
                mutexes.put(who + " " + rest.get(0), new Mutex(client, rest.get(1)));
                return "ok";
            case "free":
                mutexes.remove(who + " " + rest.get(0));
                return "ok";
            case "acquire":
                if (!mutex.acquire(Long.parseLong(rest.get(1)), TimeUnit.MILLISECONDS)) {
                    return "error TIMEOUT";
                }
                // Else it would be held for ever: who was told of an error does not release it.
                boolean isTold = false;
                try {
                    Stat node = client.checkExists().forPath(mutex.node());
                    isTold = node != null;
                    return isTold ? "ok " + node.getCzxid() : "error NOT_HELD";
                } finally {
                    if (!isTold) {
                        mutex.release();
                    }
                }
            case "held":
                return "ok " + (mutex.isOwnedByCurrentThread() && client.getZookeeperClient().isConnected());
            case "release":
                mutex.release();
                return "ok";
            case "get":
                sync(client, rest.get(0));
                return "ok " + new String(client.getData().forPath(rest.get(0)), StandardCharsets.UTF_8);
            case "guarded-set":
                try {
                    // The lock's own node has to be there: who has lost it writes nothing.
                    client.transaction().forOperations(
                        client.transactionOp().check().forPath(mutex.node()),
                        client.transactionOp().setData().forPath(
                            rest.get(1), rest.get(2).getBytes(StandardCharsets.UTF_8)));
                    return "ok";
                } catch (KeeperException.NoNodeException lost) {
                    return "error NOT_HELD";
                }
            default:
                return "error INVALID";
        }
    }

    /** It may have connected to another server, which lags. */
    private static void sync(CuratorFramework client, String path) throws Exception {
        CompletableFuture<Integer> done = new CompletableFuture<>();
        client.getZookeeperClient().getZooKeeper().sync(path, (code, about, context) -> done.complete(code), null);
        int code = done.get(PATIENCE, TimeUnit.SECONDS);
        if (code != 0) {
            throw KeeperException.create(KeeperException.Code.get(code), path);
        }
    }
}
