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

        void close() throws Exception;
    }

    private static final Map<String, Owner> owners = new ConcurrentHashMap<>();
    private static final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split(" ");
            if (words[2].equals("close") || words[2].equals("revoke")) {
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
            say(words[0] + (perform(words[1], words[2], rest) ? " ok" : " error TIMEOUT"));
        } catch (Exception problem) {
            say(words[0] + " error " + problem);
        }
    }

    private static boolean perform(String name, String verb, List<String> rest) throws Exception {
        if (verb.equals("connect")) {
            boolean curator = rest.get(1).equals("curator");
            String hosts = rest.get(0);
            int timeout = Integer.parseInt(rest.get(2));
            owners.put(name, curator ? new CuratorOwner(name, hosts, timeout) : new ZooKeeperOwner(hosts, timeout));
            return true;
        }
        Owner owner = owners.get(name);
        switch (verb) {
            case "acquire":
                Long millis = rest.get(2).equals("-") ? null : Long.valueOf(rest.get(2));
                return owner.acquire(rest.get(0), rest.get(1), millis, Integer.parseInt(rest.get(3)));
            case "release":
                owner.release(rest.get(0), rest.get(1));
                return true;
            case "revoke":
                owner.revoke(rest.get(1) + "/" + rest.get(2));
                return true;
            case "close":
                owner.close();
                return true;
            default:
                throw new IllegalArgumentException(verb + " is no verb");
        }
    }
}
