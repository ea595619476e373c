import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.zookeeper.ZooKeeper;

/** Curator's DistributedBarrier and DistributedDoubleBarrier. */
class CuratorBarriers {
    private static final long FOR_EVER = TimeUnit.DAYS.toMillis(1);

    private final CuratorFramework client;
    /** What is being waited at, by path: one object is one member. */
    private final Map<String, DistributedDoubleBarrier> entered = new HashMap<>();

    CuratorBarriers(CuratorFramework client) {
        this.client = client;
    }

    String obey(String verb, List<String> rest) throws Exception {
        String kind = rest.get(0);
        String path = rest.get(1);
        switch (verb) {
            case "create":
                new DistributedBarrier(client, path).setBarrier();
                return "";
            case "remove":
                new DistributedBarrier(client, path).removeBarrier();
                return "";
            case "wait":
                return inTime(new DistributedBarrier(client, path).waitOnBarrier(millis(rest), TimeUnit.MILLISECONDS));
            case "enter":
                int parties = Integer.parseInt(kind.substring("double:".length()));
                // A barrier of Curator's is for one round.
                entered.put(path, new DistributedDoubleBarrier(client, path, parties));
                return inTime(entered.get(path).enter(millis(rest), TimeUnit.MILLISECONDS));
            case "leave":
                hearAll();
                return inTime(entered.remove(path).leave(FOR_EVER, TimeUnit.MILLISECONDS));
            default:
                throw new IllegalArgumentException(verb + " is no verb of barriers");
        }
    }

    /** An event of the entering that comes while a member leaves has it leave before the last other member does. */
    private void hearAll() throws Exception {
        CountDownLatch told = new CountDownLatch(1);
        ZooKeeper session = client.getZookeeperClient().getZooKeeper();
        session.exists("/", false, (code, path, context, stat) -> told.countDown(), null);
        told.await();
    }

    private static long millis(List<String> rest) {
        return rest.get(2).equals("-") ? FOR_EVER : Long.parseLong(rest.get(2));
    }

    private static String inTime(boolean passed) {
        if (!passed) {
            throw new IllegalStateException("TIMEOUT");
        }
        return "";
    }
}
