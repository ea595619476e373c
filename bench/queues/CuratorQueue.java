import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.retry.RetryOneTime;

/** Curator's consumer of a queue: CuratorQueue HOSTS. Obeys "take PATH COUNT"; the answer is nanoseconds. */
public class CuratorQueue {
    public static void main(String[] arguments) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(arguments[0], new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            SimpleDistributedQueue queue = new SimpleDistributedQueue(client, words[1]);
            long begun = System.nanoTime();
            for (int left = Integer.parseInt(words[2]); left > 0; left--) {
                queue.take();
            }
            System.out.println(System.nanoTime() - begun);
        }
        Runtime.getRuntime().halt(0);
    }
}
