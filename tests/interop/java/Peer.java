import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The Java side of the interoperability tests: obeys lines on stdin; tests/interop/README.md is the protocol. */
public class Peer {
    /** One session with what it holds. What acquires and releases is called on one thread: Curator's mutexes belong to it. */
    interface Owner {
        /** False when the time ran out; null waits for ever. Permits are what semaphores have. */
        boolean acquire(String kind, String path, Long millis, int permits) throws Exception;

        void release(String kind, String path) throws Exception;

        void revoke(String node) throws Exception;

        /** Adds to a counter, and answers the new value. */
        default long add(String kind, String path, long n) throws Exception {
            throw new IllegalArgumentException(kind + " is no counter here");
        }

        /** Who stands in an election, the leader with a star. */
        default List<String> candidates(String kind, String path) throws Exception {
            throw new IllegalArgumentException(kind + " is no election here");
        }

        /** Any other verb, with what stands behind it; answers words. */
        default String obey(String verb, List<String> rest) throws Exception {
            throw new IllegalArgumentException(verb + " is no verb here");
        }

        void close() throws Exception;
    }

    private static final Map<String, Owner> owners = new ConcurrentHashMap<>();
    private static final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (List.of("close", "revoke", "candidates").contains(words[2])) {
                // The owner's thread may be waiting for a lock.
                new Thread(() -> answer(words)).start();
            } else {
                threads.computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                    .execute(() -> answer(words));
            }
        }
        Runtime.getRuntime().halt(0);
    }

    static synchronized void say(String line) {
        System.out.println(line.strip());
        System.out.flush();
    }

    private static void answer(String[] words) {
        try {
            List<String> rest = Arrays.asList(words).subList(3, words.length);
            say(words[0] + " " + perform(words[1], words[2], rest));
        } catch (Exception problem) {
            say(words[0] + " error " + problem);
        }
    }

    /** The answer as it is said. */
    private static String perform(String name, String verb, List<String> rest) throws Exception {
        if (verb.equals("connect")) {
            boolean curator = rest.get(1).equals("curator");
            String hosts = rest.get(0);
            int timeout = Integer.parseInt(rest.get(2));
            owners.put(name, curator ? new CuratorOwner(name, hosts, timeout) : new ZooKeeperOwner(hosts, timeout));
            return "ok";
        }
        Owner owner = owners.get(name);
        switch (verb) {
            case "acquire":
                Long millis = rest.get(2).equals("-") ? null : Long.valueOf(rest.get(2));
                boolean won = owner.acquire(rest.get(0), rest.get(1), millis, Integer.parseInt(rest.get(3)));
                return won ? "ok" : "error TIMEOUT";
            case "release":
                owner.release(rest.get(0), rest.get(1));
                return "ok";
            case "revoke":
                owner.revoke(rest.get(1) + "/" + rest.get(2));
                return "ok";
            case "add":
                return "ok " + owner.add(rest.get(0), rest.get(1), Long.parseLong(rest.get(2)));
            case "candidates":
                return "ok " + String.join(" ", owner.candidates(rest.get(0), rest.get(1)));
            case "close":
                owner.close();
                return "ok";
            default:
                return "ok " + owner.obey(verb, rest);
        }
    }
}
