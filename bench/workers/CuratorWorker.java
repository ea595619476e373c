import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;

/** Apache Curator: CuratorWorker HOSTS SESSION_MS. bench/README.md says what a worker is. */
public class CuratorWorker {
    interface Body {
        void run(int number) throws Exception;
    }

    static final byte[] ITEM = new byte[100];

    final String hosts;
    final int sessionMs;
    final List<CuratorFramework> clients = new ArrayList<>();
    final List<CuratorFramework> fleet = new ArrayList<>();
    final List<CuratorFramework> holding = new ArrayList<>();
    final List<Future<Void>> waiting = new ArrayList<>();
    Observer observer;
    final ExecutorService threads = Executors.newCachedThreadPool();
    final List<Future<long[]>> waiters = new ArrayList<>();
    InterProcessMutex held;
    LeaderLatch latch;
    final CountDownLatch leads = new CountDownLatch(1);
    volatile long ledAt;

    String verb;
    final Map<String, String> parameters = new HashMap<>();

    CuratorWorker(String hosts, int sessionMs) throws Exception {
        this.hosts = hosts;
        this.sessionMs = sessionMs;
        sessions(1);
    }

    public static void main(String[] arguments) throws Exception {
        Arrays.fill(ITEM, (byte) 'x');
        CuratorWorker worker = new CuratorWorker(arguments[0], Integer.parseInt(arguments[1]));
        String jar = CuratorFramework.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        System.out.println("ready version=" + jar.replaceAll(".*curator-framework-|\\.jar$", ""));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            worker.read(line);
            try {
                String answer = worker.obey();
                System.out.println(answer == null ? "unsupported" : "ok " + answer);
            } catch (Exception error) {
                System.out.println("error " + error.toString().replace('\n', '|'));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    void read(String line) {
        String[] words = line.split(" ");
        verb = words[0];
        parameters.clear();
        for (int i = 1; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            parameters.put(pair[0], pair[1]);
        }
    }

    int number(String name) {
        return Integer.parseInt(parameters.get(name));
    }

    String path() {
        return parameters.get("path");
    }

    CuratorFramework connect() throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(hosts, sessionMs, 60_000, new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        return client;
    }

    List<CuratorFramework> sessions(int count) throws Exception {
        while (clients.size() < count) {
            clients.add(connect());
        }
        return clients.subList(0, count);
    }

    String obey() throws Exception {
        CuratorFramework client = clients.get(0);
        int ops = parameters.containsKey("ops") ? number("ops") : 0;
        String path = path();
        switch (verb) {
            case "lock": {
                InterProcessMutex mutex = new InterProcessMutex(client, path);
                long[] acquire = new long[ops];
                long[] both = new long[ops];
                for (int i = 0; i < ops; i++) {
                    long begun = System.nanoTime();
                    mutex.acquire();
                    acquire[i] = System.nanoTime() - begun;
                    mutex.release();
                    both[i] = System.nanoTime() - begun;
                }
                return listed("acquire", acquire) + " " + listed("both", both);
            }
            case "disjoint": {
                int paths = number("paths");
                return took(paths, number -> {
                    InterProcessMutex mutex = new InterProcessMutex(client, path + "/" + number);
                    for (int i = 0; i < ops / paths; i++) {
                        mutex.acquire();
                        mutex.release();
                    }
                });
            }
            case "hold":
                held = new InterProcessMutex(client, path);
                held.acquire();
                return "";
            case "drop": {
                long begun = System.nanoTime();
                held.release();
                return "at=" + begun;
            }
            case "queue":
                int several = Integer.parseInt(parameters.getOrDefault("sessions", "1"));
                queue(sessions(several), path, number("waiters"), number("times"));
                return "";
            case "finish": {
                List<long[]> stamps = new ArrayList<>();
                for (Future<long[]> waiter : waiters) {
                    stamps.add(waiter.get());
                }
                waiters.clear();
                return listed("at", stamps.stream().flatMapToLong(Arrays::stream).toArray());
            }
            case "readwrite": {
                int callers = number("callers");
                int every = number("every");
                return took(callers, number -> {
                    InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, path);
                    for (int i = 1; i <= ops / callers; i++) {
                        InterProcessLock side = i % every == 0 ? lock.writeLock() : lock.readLock();
                        side.acquire();
                        side.release();
                    }
                });
            }
            case "semaphore": {
                int callers = number("callers");
                int permits = number("permits");
                return took(callers, number -> {
                    InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, permits);
                    for (int i = 0; i < ops / callers; i++) {
                        Lease lease = semaphore.acquire();
                        semaphore.returnLease(lease);
                    }
                });
            }
            case "stand":
                latch = new LeaderLatch(client, path);
                latch.addListener(new LeaderLatchListener() {
                    @Override
                    public void isLeader() {
                        ledAt = System.nanoTime();
                        leads.countDown();
                    }

                    @Override
                    public void notLeader() {}
                });
                latch.start();
                return "";
            case "elected":
                leads.await();
                return "at=" + ledAt;
            case "resign": {
                long begun = System.nanoTime();
                latch.close();
                return "at=" + begun;
            }
            case "put":
            case "get": {
                if (number("calls") > 1) {
                    return null;
                }
                List<CuratorFramework> sessions = sessions(number("clients"));
                boolean puts = verb.equals("put");
                return took(sessions.size(), number -> {
                    SimpleDistributedQueue queue = new SimpleDistributedQueue(sessions.get(number), path);
                    for (int i = 0; i < ops / sessions.size(); i++) {
                        if (puts) {
                            queue.offer(ITEM);
                        } else {
                            queue.take();
                        }
                    }
                });
            }
            case "barrier": {
                int members = number("members");
                // One of Curator's is for one round.
                List<DistributedDoubleBarrier> barriers = new ArrayList<>();
                for (CuratorFramework session : sessions(members)) {
                    barriers.add(new DistributedDoubleBarrier(session, path, members));
                }
                long enter = together(members, number -> barriers.get(number).enter());
                long leave = together(members, number -> barriers.get(number).leave());
                return "enter=" + enter + " leave=" + leave;
            }
            case "counter": {
                DistributedAtomicLong counter = new DistributedAtomicLong(client, path, new RetryOneTime(100));
                long[] both = new long[ops];
                for (int i = 0; i < ops; i++) {
                    long begun = System.nanoTime();
                    if (!counter.increment().succeeded()) {
                        throw new IllegalStateException("not added");
                    }
                    both[i] = System.nanoTime() - begun;
                }
                return listed("both", both);
            }
            case "watch":
                return watch(path, ops);
            case "fleet":
                return fleet(path, number("clients"), parameters.get("state"));
            case "observe":
                endObserver();
                observer = new Observer();
                observer.start();
                return "";
            case "observed":
                return observer.told();
            case "disband":
                endObserver();
                holding.clear();
                waiting.clear();
                List<CuratorFramework> leaving = new ArrayList<>(fleet);
                fleet.clear();
                together(16, number -> {
                    for (int i = number; i < leaving.size(); i += 16) {
                        leaving.get(i).close();
                    }
                });
                return "";
            default:
                return null;
        }
    }

    void endObserver() {
        if (observer != null) {
            observer.interrupt();
            observer = null;
        }
    }

    void queue(List<CuratorFramework> sessions, String path, int count, int times) {
        for (int n = 0; n < count; n++) {
            CuratorFramework client = sessions.get(n % sessions.size());
            waiters.add(threads.submit(() -> {
                InterProcessMutex mutex = new InterProcessMutex(client, path);
                long[] stamps = new long[times];
                for (int i = 0; i < times; i++) {
                    mutex.acquire();
                    stamps[i] = System.nanoTime();
                    mutex.release();
                }
                return stamps;
            }));
        }
    }

    String watch(String path, int ops) throws Exception {
        CuratorFramework writer = sessions(2).get(0);
        if (writer.checkExists().forPath(path) == null) {
            writer.create().creatingParentsIfNeeded().forPath(path);
        }
        long[] both = new long[ops];
        Object monitor = new Object();
        String[] told = {""};
        long[] at = {0};
        try (CuratorCache cache = CuratorCache.build(clients.get(1), path, CuratorCache.Options.SINGLE_NODE_CACHE)) {
            cache.listenable().addListener((type, before, after) -> {
                synchronized (monitor) {
                    at[0] = System.nanoTime();
                    told[0] = after == null ? "" : new String(after.getData(), StandardCharsets.UTF_8);
                    monitor.notifyAll();
                }
            });
            cache.start();
            for (int i = 0; i < ops; i++) {
                long begun = System.nanoTime();
                String data = i + "-" + begun;
                writer.setData().forPath(path, data.getBytes(StandardCharsets.UTF_8));
                synchronized (monitor) {
                    while (!told[0].equals(data)) {
                        monitor.wait();
                    }
                    both[i] = at[0] - begun;
                }
            }
        }
        return listed("both", both);
    }

    String fleet(String path, int count, String state) throws Exception {
        if (state.equals("shared")) {
            return null;
        }
        for (int n = 0; n < count; n++) {
            CuratorFramework client = connect();
            fleet.add(client);
            boolean mixed = state.equals("mixed");
            boolean pairs = state.equals("wait");
            boolean holds = mixed ? n % 10 == 0 : state.equals("hold") || (pairs && n % 2 == 0);
            boolean waits = mixed ? n % 10 == 1 : pairs && n % 2 == 1;
            // Of a mixed fleet ten stand in a line behind a holder.
            int at = mixed ? (waits ? n / 100 : n / 10) : pairs ? n / 2 : n;
            InterProcessMutex mutex = new InterProcessMutex(client, path + "/" + at);
            if (holds) {
                mutex.acquire();
                holding.add(client);
            } else if (waits) {
                waiting.add(threads.submit(() -> {
                    mutex.acquire();
                    return null;
                }));
            }
        }
        return "";
    }

    /** What the clients of a fleet say of themselves, all the time. Who is not connected is not certain of a lock. */
    class Observer extends Thread {
        final Set<CuratorFramework> away = ConcurrentHashMap.newKeySet();
        final Set<CuratorFramework> lost = ConcurrentHashMap.newKeySet();
        final Map<CuratorFramework, Long> uncertainSince = new HashMap<>();
        final Set<CuratorFramework> holders = new HashSet<>(holding);
        final List<CuratorFramework> clients = new ArrayList<>(fleet);
        final List<Future<Void>> waiters = new ArrayList<>(waiting);
        long gap;
        long well;

        Observer() {
            for (CuratorFramework client : clients) {
                client.getConnectionStateListenable().addListener((who, state) -> {
                    if (state.isConnected()) {
                        away.remove(client);
                    } else {
                        away.add(client);
                    }
                    if (state == ConnectionState.LOST) {
                        lost.add(client);
                    }
                });
            }
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                while (true) {
                    Thread.sleep(10);
                    look();
                }
            } catch (InterruptedException over) {
                return;
            }
        }

        synchronized void look() {
            long now = System.nanoTime();
            boolean isWell = true;
            for (CuratorFramework client : clients) {
                boolean isCertain = !away.contains(client);
                isWell &= isCertain;
                if (!holders.contains(client)) {
                    continue;
                }
                if (!isCertain) {
                    uncertainSince.putIfAbsent(client, now);
                }
                if (uncertainSince.containsKey(client)) {
                    gap = Math.max(gap, now - uncertainSince.get(client));
                }
                if (isCertain) {
                    uncertainSince.remove(client);
                }
            }
            well = !isWell ? 0 : well == 0 ? now : well;
        }

        synchronized String told() {
            look();
            long losers = holders.stream().filter(lost::contains).count();
            long ended = waiters.stream().filter(Future::isDone).count();
            return "well=" + well + " gap=" + gap + " lost=" + losers + " ended=" + ended;
        }
    }

    /** So many threads at once; how long until the last one is done. */
    long together(int count, Body body) throws Exception {
        long begun = System.nanoTime();
        List<Future<Void>> all = new ArrayList<>();
        for (int n = 0; n < count; n++) {
            int number = n;
            all.add(threads.submit(() -> {
                body.run(number);
                return null;
            }));
        }
        for (Future<Void> one : all) {
            one.get();
        }
        return System.nanoTime() - begun;
    }

    String took(int count, Body body) throws Exception {
        return "took=" + together(count, body);
    }

    static String listed(String name, long[] numbers) {
        StringBuilder text = new StringBuilder(name).append('=');
        for (int i = 0; i < numbers.length; i++) {
            text.append(i == 0 ? "" : ",").append(numbers[i]);
        }
        return text.toString();
    }
}
