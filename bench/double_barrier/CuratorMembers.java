import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.retry.RetryOneTime;

/** Curator's members of a double barrier: CuratorMembers HOSTS PATH MEMBERS. bench/src/double_barrier.rs is what it does. */
public class CuratorMembers {
    interface Move {
        void of(DistributedDoubleBarrier barrier) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        int members = Integer.parseInt(arguments[2]);
        List<CuratorFramework> clients = new ArrayList<>();
        for (int n = 0; n < members; n++) {
            CuratorFramework client = CuratorFrameworkFactory.newClient(arguments[0], new RetryOneTime(100));
            client.start();
            client.blockUntilConnected();
            clients.add(client);
        }
        ExecutorService threads = Executors.newFixedThreadPool(members);
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            // One of Curator's is for one round.
            List<DistributedDoubleBarrier> barriers = new ArrayList<>();
            for (CuratorFramework client : clients) {
                barriers.add(new DistributedDoubleBarrier(client, arguments[1], members));
            }
            long entered = all(threads, barriers, DistributedDoubleBarrier::enter);
            long left = all(threads, barriers, DistributedDoubleBarrier::leave);
            System.out.println(entered + " " + left);
        }
        Runtime.getRuntime().halt(0);
    }

    private static long all(ExecutorService threads, List<DistributedDoubleBarrier> barriers, Move move) throws Exception {
        long begun = System.nanoTime();
        List<Callable<Void>> moves = new ArrayList<>();
        for (DistributedDoubleBarrier barrier : barriers) {
            moves.add(() -> {
                move.of(barrier);
                return null;
            });
        }
        for (Future<Void> moved : threads.invokeAll(moves)) {
            moved.get();
        }
        return System.nanoTime() - begun;
    }
}
