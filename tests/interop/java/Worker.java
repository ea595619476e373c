import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.Callable;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.retry.RetryOneTime;

/** Curator's worker of the mixed contention test: tests/interop/README.md says what a worker does. */
public class Worker {
    public static void main(String[] arguments) throws Exception {
        String name = arguments[0];
        String kind = arguments[3];
        String path = arguments[4];
        Path counter = Path.of(arguments[5]);
        Path log = Path.of(arguments[6]);
        long stay = Long.parseLong(arguments[8]);
        try (CuratorFramework client =
            CuratorFrameworkFactory.newClient(arguments[1], 15_000, 15_000, new RetryOneTime(100))) {
            client.start();
            client.blockUntilConnected();
            // A mutex and a semaphore are acquired and released by other names.
            Callable<AutoCloseable> recipe;
            if (kind.startsWith("semaphore:")) {
                int permits = Integer.parseInt(kind.substring("semaphore:".length()));
                recipe = new InterProcessSemaphoreV2(client, path, permits)::acquire;
            } else {
                InterProcessMutex mutex = new InterProcessMutex(client, path);
                recipe = () -> {
                    mutex.acquire();
                    return mutex::release;
                };
            }
            System.out.println("ready");
            System.in.readAllBytes();
            long end = System.nanoTime() + Long.parseLong(arguments[7]) * 1_000_000_000L;
            do {
                try (AutoCloseable held = recipe.call()) {
                    work(name, counter, log, stay);
                }
            } while (System.nanoTime() < end);
        }
    }

    /** Counts up, with nothing but the recipe to keep others from doing the same. */
    private static void work(String name, Path counter, Path log, long stay) throws Exception {
        long enter = System.nanoTime();
        long count = Long.parseLong(Files.readString(counter).strip());
        Files.writeString(counter, (count + 1) + "\n");
        Thread.sleep(stay);
        String line = name + " - " + enter + " " + System.nanoTime() + "\n";
        Files.write(log, line.getBytes(StandardCharsets.UTF_8), StandardOpenOption.APPEND);
    }
}
