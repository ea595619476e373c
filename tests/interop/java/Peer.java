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
    /** One session with what it holds. Called on one thread only: Curator's mutexes belong to threads. */
    interface Owner {
        /** False when the time ran out; null waits for ever. */
        boolean acquire(String kind, String path, Long millis) throws Exception;

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
            threads.computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                .execute(() -> answer(words));
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
            owners.put(name, curator ? new CuratorOwner(name, rest.get(0)) : new ZooKeeperOwner(rest.get(0)));
            return true;
        }
        Owner owner = owners.get(name);
        switch (verb) {
            case "acquire":
                return owner.acquire(rest.get(0), rest.get(1), rest.size() > 2 ? Long.valueOf(rest.get(2)) : null);
            case "release":
                owner.release(rest.get(0), rest.get(1));
                return true;
            case "revoke":
                owner.revoke(rest.get(0) + "/" + rest.get(1));
                return true;
            case "close":
                owner.close();
                return true;
            default:
                throw new IllegalArgumentException(verb + " is no verb");
        }
    }
}
