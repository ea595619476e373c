import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.nodes.PersistentTtlNode;
import org.apache.curator.framework.recipes.queue.DistributedDelayQueue;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryNTimes;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.CreateMode;

/** Apache Curator's recipes among themselves, several clients each. Prints a line per recipe: its name, and "ok" or why not. */
public class Recipes {
    private static final int PARTIES = 4;
    private static final int PATIENCE = 30;
    private static String hosts;

    interface Check {
        void run(String path, List<CuratorFramework> clients) throws Exception;
    }

    public static void main(String[] arguments) {
        hosts = arguments[0];
        check("InterProcessMutex", (path, clients) -> neverTwo(clients, c -> new InterProcessMutex(c, path)));
        check("InterProcessSemaphoreMutex",
            (path, clients) -> neverTwo(clients, c -> new InterProcessSemaphoreMutex(c, path)));
        check("InterProcessMultiLock", (path, clients) ->
            neverTwo(clients, c -> new InterProcessMultiLock(c, List.of(path + "/a", path + "/b"))));
        check("InterProcessReadWriteLock", Recipes::readWriteLock);
        check("InterProcessSemaphoreV2", Recipes::semaphore);
        check("LeaderLatch", Recipes::leaderLatch);
        check("LeaderSelector", Recipes::leaderSelector);
        check("DistributedBarrier", Recipes::barrier);
        check("DistributedDoubleBarrier", Recipes::doubleBarrier);
        check("SimpleDistributedQueue", Recipes::simpleQueue);
        check("DistributedQueue", Recipes::queue);
        check("DistributedPriorityQueue", Recipes::priorityQueue);
        check("DistributedDelayQueue", Recipes::delayQueue);
        check("SharedCount", Recipes::sharedCount);
        check("DistributedAtomicLong", Recipes::atomicLong);
        check("GroupMember", Recipes::groupMember);
        check("PersistentNode", Recipes::persistentNode);
        check("PersistentTtlNode", Recipes::ttlNode);
        check("CuratorCache", Recipes::cache);
        Runtime.getRuntime().halt(0);
    }

    private static void check(String name, Check check) {
        List<CuratorFramework> clients = new ArrayList<>();
        String outcome = "ok";
        try {
            for (int i = 0; i < PARTIES; i++) {
                CuratorFramework client =
                    CuratorFrameworkFactory.newClient(hosts, 15_000, 15_000, new RetryOneTime(100));
                client.start();
                clients.add(client);
            }
            check.run("/curator-" + name, clients);
        } catch (Throwable problem) {
            outcome = problem.toString().replace('\n', ' ') + " at " + problem.getStackTrace()[0];
        } finally {
            clients.forEach(CuratorFramework::close);
        }
        System.out.println(name + " " + outcome);
    }

    private static void expect(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    interface Step {
        void run(CuratorFramework client) throws Exception;
    }

    /** Runs a step for every client, each on a thread of its own. */
    private static void together(List<CuratorFramework> clients, Step step) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(clients.size());
        try {
            List<Callable<Void>> calls = new ArrayList<>();
            for (CuratorFramework client : clients) {
                calls.add(() -> {
                    step.run(client);
                    return null;
                });
            }
            for (Future<Void> done : threads.invokeAll(calls, PATIENCE, TimeUnit.SECONDS)) {
                done.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    interface MakeLock {
        InterProcessLock of(CuratorFramework client);
    }

    private static void neverTwo(List<CuratorFramework> clients, MakeLock make) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger rounds = new AtomicInteger();
        together(clients, client -> {
            InterProcessLock lock = make.of(client);
            for (int i = 0; i < 10; i++) {
                expect(lock.acquire(PATIENCE, TimeUnit.SECONDS), "acquired");
                expect(inside.incrementAndGet() == 1, "alone inside");
                rounds.incrementAndGet();
                inside.decrementAndGet();
                lock.release();
            }
        });
        expect(rounds.get() == 10 * PARTIES, "all rounds");
    }

    private static void readWriteLock(String path, List<CuratorFramework> clients) throws Exception {
        AtomicInteger readers = new AtomicInteger();
        AtomicInteger writers = new AtomicInteger();
        together(clients, client -> {
            InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, path);
            for (int i = 0; i < 5; i++) {
                expect(lock.readLock().acquire(PATIENCE, TimeUnit.SECONDS), "read");
                readers.incrementAndGet();
                expect(writers.get() == 0, "no writer beside a reader");
                readers.decrementAndGet();
                lock.readLock().release();

                expect(lock.writeLock().acquire(PATIENCE, TimeUnit.SECONDS), "write");
                expect(writers.incrementAndGet() == 1 && readers.get() == 0, "a writer is alone");
                expect(lock.readLock().acquire(PATIENCE, TimeUnit.SECONDS), "read while writing");
                writers.decrementAndGet();
                readers.incrementAndGet();
                lock.writeLock().release();
                expect(writers.get() == 0, "no writer beside what was downgraded");
                readers.decrementAndGet();
                lock.readLock().release();
            }
        });
    }

    private static void semaphore(String path, List<CuratorFramework> clients) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        together(clients, client -> {
            InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, path, 2);
            for (int i = 0; i < 8; i++) {
                Lease lease = semaphore.acquire(PATIENCE, TimeUnit.SECONDS);
                expect(lease != null, "acquired");
                expect(inside.incrementAndGet() <= 2, "two at most");
                inside.decrementAndGet();
                lease.close();
            }
        });
    }

    private static void leaderLatch(String path, List<CuratorFramework> clients) throws Exception {
        List<LeaderLatch> latches = new ArrayList<>();
        for (CuratorFramework client : clients) {
            LeaderLatch latch = new LeaderLatch(client, path, "candidate-" + latches.size());
            latch.start();
            latches.add(latch);
        }
        while (!latches.isEmpty()) {
            LeaderLatch leader = null;
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
            while (leader == null && System.nanoTime() < end) {
                for (LeaderLatch latch : latches) {
                    leader = latch.await(20, TimeUnit.MILLISECONDS) ? latch : leader;
                }
            }
            expect(leader != null, "somebody leads");
            LeaderLatch elected = leader;
            expect(latches.stream().filter(LeaderLatch::hasLeadership).count() == 1, "one leads");
            expect(elected.getLeader().getId().equals(elected.getId()), "the leader is known by name");
            expect(elected.getParticipants().size() == latches.size(), "all take part");
            elected.close();
            latches.remove(elected);
        }
    }

    private static void leaderSelector(String path, List<CuratorFramework> clients) throws Exception {
        AtomicInteger leading = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        CountDownLatch terms = new CountDownLatch(3 * PARTIES);
        List<LeaderSelector> selectors = new ArrayList<>();
        for (CuratorFramework client : clients) {
            LeaderSelector selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework leader) {
                    most.accumulateAndGet(leading.incrementAndGet(), Math::max);
                    terms.countDown();
                    leading.decrementAndGet();
                }
            });
            selector.autoRequeue();
            selector.start();
            selectors.add(selector);
        }
        expect(terms.await(PATIENCE, TimeUnit.SECONDS), "every term came");
        expect(most.get() == 1, "never two leaders");
        selectors.forEach(LeaderSelector::close);
    }

    private static void barrier(String path, List<CuratorFramework> clients) throws Exception {
        DistributedBarrier gate = new DistributedBarrier(clients.get(0), path);
        gate.setBarrier();
        expect(!gate.waitOnBarrier(200, TimeUnit.MILLISECONDS), "the barrier is up");
        CountDownLatch begun = new CountDownLatch(PARTIES - 1);
        Thread lift = new Thread(() -> {
            try {
                begun.await();
                gate.removeBarrier();
            } catch (Exception problem) {
                throw new IllegalStateException(problem);
            }
        });
        lift.start();
        together(clients.subList(1, PARTIES), client -> {
            begun.countDown();
            expect(new DistributedBarrier(client, path).waitOnBarrier(PATIENCE, TimeUnit.SECONDS), "lifted");
        });
        lift.join();
    }

    private static void doubleBarrier(String path, List<CuratorFramework> clients) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        together(clients, client -> {
            DistributedDoubleBarrier barrier = new DistributedDoubleBarrier(client, path, PARTIES);
            inside.incrementAndGet();
            expect(barrier.enter(PATIENCE, TimeUnit.SECONDS), "entered");
            expect(inside.get() == PARTIES, "nobody enters alone");
            expect(barrier.leave(PATIENCE, TimeUnit.SECONDS), "left");
        });
    }

    private static void simpleQueue(String path, List<CuratorFramework> clients) throws Exception {
        Set<String> taken = Collections.synchronizedSet(new HashSet<>());
        AtomicInteger names = new AtomicInteger();
        together(clients, client -> {
            SimpleDistributedQueue queue = new SimpleDistributedQueue(client, path);
            String name = "party-" + names.incrementAndGet();
            for (int i = 0; i < 10; i++) {
                expect(queue.offer((name + "-" + i).getBytes(StandardCharsets.UTF_8)), "offered");
            }
            for (int i = 0; i < 10; i++) {
                byte[] item = queue.poll(PATIENCE, TimeUnit.SECONDS);
                expect(item != null && taken.add(new String(item, StandardCharsets.UTF_8)), "taken once");
            }
        });
        expect(taken.size() == 10 * PARTIES, "everything was taken");
        expect(new SimpleDistributedQueue(clients.get(0), path).peek() == null, "nothing is left");
    }

    private static final QueueSerializer<String> TEXT = new QueueSerializer<String>() {
        @Override
        public byte[] serialize(String item) {
            return item.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String deserialize(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    };

    private static QueueConsumer<String> into(BlockingQueue<String> received) {
        return new QueueConsumer<String>() {
            @Override
            public void consumeMessage(String item) {
                received.add(item);
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {}
        };
    }

    private static List<String> drain(BlockingQueue<String> received, int count) throws InterruptedException {
        List<String> items = new ArrayList<>();
        while (items.size() < count) {
            String item = received.poll(PATIENCE, TimeUnit.SECONDS);
            expect(item != null, "got " + items);
            items.add(item);
        }
        return items;
    }

    private static void queue(String path, List<CuratorFramework> clients) throws Exception {
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        try (DistributedQueue<String> producer = QueueBuilder.builder(clients.get(0), null, TEXT, path).buildQueue();
            DistributedQueue<String> one = QueueBuilder.builder(clients.get(1), into(received), TEXT, path)
                .lockPath(path + "-locks").buildQueue();
            DistributedQueue<String> other = QueueBuilder.builder(clients.get(2), into(received), TEXT, path)
                .lockPath(path + "-locks").buildQueue()) {
            producer.start();
            one.start();
            other.start();
            for (int i = 0; i < 30; i++) {
                producer.put("item-" + i);
            }
            expect(new HashSet<>(drain(received, 30)).size() == 30, "each came once");
            until(() -> clients.get(0).getChildren().forPath(path).isEmpty(), "each was removed");
        }
    }

    private static void priorityQueue(String path, List<CuratorFramework> clients) throws Exception {
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        try (DistributedPriorityQueue<String> producer =
                QueueBuilder.builder(clients.get(0), null, TEXT, path).buildPriorityQueue(0);
            DistributedPriorityQueue<String> consumer =
                QueueBuilder.builder(clients.get(1), into(received), TEXT, path).buildPriorityQueue(0)) {
            producer.start();
            for (int priority : new int[] {5, -1, 3, 0}) {
                producer.put("p" + priority, priority);
            }
            expect(producer.flushPuts(PATIENCE, TimeUnit.SECONDS), "put");
            consumer.start();
            expect(drain(received, 4).equals(List.of("p-1", "p0", "p3", "p5")), "in the order of priority");
            until(() -> clients.get(0).getChildren().forPath(path).isEmpty(), "each was removed");
        }
    }

    private static void delayQueue(String path, List<CuratorFramework> clients) throws Exception {
        BlockingQueue<String> received = new LinkedBlockingQueue<>();
        try (DistributedDelayQueue<String> queue =
            QueueBuilder.builder(clients.get(0), into(received), TEXT, path).buildDelayQueue()) {
            queue.start();
            long begun = System.currentTimeMillis();
            queue.put("late", begun + 600);
            queue.put("early", begun + 300);
            expect(drain(received, 2).equals(List.of("early", "late")), "in the order of time");
            expect(System.currentTimeMillis() - begun >= 600, "not before its time");
            until(() -> clients.get(0).getChildren().forPath(path).isEmpty(), "each was removed");
        }
    }

    private static void sharedCount(String path, List<CuratorFramework> clients) throws Exception {
        together(clients, client -> {
            try (SharedCount count = new SharedCount(client, path, 0)) {
                count.start();
                for (int i = 0; i < 10; i++) {
                    while (!count.trySetCount(count.getVersionedValue(), count.getCount() + 1)) {
                        Thread.onSpinWait();
                    }
                }
            }
        });
        try (SharedCount count = new SharedCount(clients.get(0), path, 0)) {
            count.start();
            expect(count.getCount() == 10 * PARTIES, "counted " + count.getCount());
        }
    }

    private static void atomicLong(String path, List<CuratorFramework> clients) throws Exception {
        together(clients, client -> {
            DistributedAtomicLong number = new DistributedAtomicLong(client, path, new RetryNTimes(1000, 1));
            for (int i = 0; i < 10; i++) {
                AtomicValue<Long> added = number.add(3L);
                expect(added.succeeded() && added.postValue() == added.preValue() + 3, "added");
            }
        });
        long sum = new DistributedAtomicLong(clients.get(0), path, new RetryOneTime(1)).get().postValue();
        expect(sum == 30 * PARTIES, "counted " + sum);
    }

    private static void groupMember(String path, List<CuratorFramework> clients) throws Exception {
        List<GroupMember> members = new ArrayList<>();
        for (CuratorFramework client : clients) {
            members.add(new GroupMember(client, path, "member-" + members.size(), new byte[] {1}));
            members.get(members.size() - 1).start();
        }
        until(() -> members.stream().allMatch(member -> member.getCurrentMembers().size() == PARTIES), "all joined");
        members.remove(0).close();
        until(() -> members.get(0).getCurrentMembers().size() == PARTIES - 1, "one left");
        members.forEach(GroupMember::close);
    }

    private static void persistentNode(String path, List<CuratorFramework> clients) throws Exception {
        try (PersistentNode node =
            new PersistentNode(clients.get(0), CreateMode.EPHEMERAL, true, path, new byte[] {7})) {
            node.start();
            expect(node.waitForInitialCreate(PATIENCE, TimeUnit.SECONDS), "created");
            String actual = node.getActualPath();
            clients.get(1).delete().forPath(actual);
            until(() -> clients.get(1).checkExists().forPath(node.getActualPath()) != null, "created again");
        }
    }

    private static void ttlNode(String path, List<CuratorFramework> clients) throws Exception {
        try (PersistentTtlNode node = new PersistentTtlNode(clients.get(0), path, 500, new byte[] {7})) {
            node.start();
            expect(node.waitForInitialCreate(PATIENCE, TimeUnit.SECONDS), "created");
            String touched = path + "/" + PersistentTtlNode.DEFAULT_CHILD_NODE_NAME;
            until(() -> clients.get(1).checkExists().forPath(touched) != null, "touched");
        }
    }

    private static void cache(String path, List<CuratorFramework> clients) throws Exception {
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        CuratorFramework other = clients.get(1);
        other.create().forPath(path);
        try (CuratorCache cache = CuratorCache.build(clients.get(0), path)) {
            cache.listenable().addListener((type, before, after) -> seen.add(type.name()));
            cache.start();
            sees(seen, "NODE_CREATED");
            other.create().forPath(path + "/a", new byte[] {1});
            sees(seen, "NODE_CREATED");
            other.setData().forPath(path + "/a", new byte[] {2});
            sees(seen, "NODE_CHANGED");
            other.create().forPath(path + "/a/b");
            sees(seen, "NODE_CREATED");
            other.delete().forPath(path + "/a/b");
            sees(seen, "NODE_DELETED");
            expect(cache.size() == 2, "two nodes are left");
        }
    }

    private static void sees(BlockingQueue<String> seen, String change) throws InterruptedException {
        String next = seen.poll(PATIENCE, TimeUnit.SECONDS);
        expect(change.equals(next), "sees " + change + ", not " + next);
    }

    /** Waits for what a recipe's own threads are about to bring. */
    private static void until(Callable<Boolean> condition, String what) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
        while (!condition.call()) {
            expect(System.nanoTime() < end, what);
            Thread.sleep(5);
        }
    }
}
