import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

/** Curator's worker of the mixed contention test: tests/interop/README.md says what a worker does. */
public class Worker {
    public static void main(String[] arguments) throws Exception {
        String name = arguments[0];
        Path folder = Path.of(arguments[3]);
        try (CuratorFramework client =
            CuratorFrameworkFactory.newClient(arguments[1], 15_000, 15_000, new RetryOneTime(100))) {
            client.start();
            client.blockUntilConnected();
            InterProcessMutex lock = new InterProcessMutex(client, arguments[2]);
            long end = System.nanoTime() + Long.parseLong(arguments[4]) * 1_000_000_000L;
            while (System.nanoTime() < end) {
                lock.acquire();
                try {
                    work(name, folder);
                } finally {
                    lock.release();
                }
            }
        }
    }

    /** Counts up, with nothing but the lock to keep others from doing the same. */
    private static void work(String name, Path folder) throws Exception {
        long enter = System.nanoTime();
        Path counter = folder.resolve("counter");
        long count = Long.parseLong(Files.readString(counter).strip());
        Files.writeString(counter, (count + 1) + "\n");
        String line = name + " - " + enter + " " + System.nanoTime() + "\n";
        Files.write(folder.resolve("log"), line.getBytes(StandardCharsets.UTF_8), StandardOpenOption.APPEND);
    }
}
