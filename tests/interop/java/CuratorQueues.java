import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.MultiItem;
import org.apache.curator.framework.recipes.queue.DistributedDelayQueue;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;

/** Curator's queues. A consumer of all but the simple one gets whatever it sees, from when it first takes. */
class CuratorQueues {
    private static final QueueSerializer<String> TEXT = new QueueSerializer<>() {
        @Override
        public byte[] serialize(String item) {
            return item.getBytes(UTF_8);
        }

        @Override
        public String deserialize(byte[] bytes) {
            return new String(bytes, UTF_8);
        }
    };

    private final CuratorFramework client;
    private final Map<String, BlockingQueue<String>> consumed = new HashMap<>();

    CuratorQueues(CuratorFramework client) {
        this.client = client;
    }

    String obey(String verb, List<String> rest) throws Exception {
        String kind = rest.get(0);
        String path = rest.get(1);
        switch (verb) {
            case "put":
                put(kind, path, rest.subList(2, rest.size()));
                return "";
            case "put-together":
                putTogether(path, rest.subList(2, rest.size()));
                return "";
            case "take":
                String item = take(kind, path, rest.get(2).equals("-") ? 86_400_000 : Long.parseLong(rest.get(2)));
                if (item == null) {
                    throw new IllegalStateException("TIMEOUT");
                }
                return item;
            default:
                throw new IllegalArgumentException(verb + " is no verb of queues");
        }
    }

    private void put(String kind, String path, List<String> rest) throws Exception {
        String item = rest.get(0);
        QueueBuilder<String> builder = QueueBuilder.builder(client, null, TEXT, path);
        switch (kind) {
            case "queue:simple":
                new SimpleDistributedQueue(client, path).offer(item.getBytes(UTF_8));
                return;
            case "queue:distributed":
                try (DistributedQueue<String> queue = builder.putInBackground(false).buildQueue()) {
                    queue.start();
                    queue.put(item);
                }
                return;
            case "priority":
                try (DistributedPriorityQueue<String> queue = builder.putInBackground(false).buildPriorityQueue(0)) {
                    queue.start();
                    queue.put(item, Integer.parseInt(rest.get(1)));
                }
                return;
            case "delay":
                try (DistributedDelayQueue<String> queue = builder.putInBackground(false).buildDelayQueue()) {
                    queue.start();
                    queue.put(item, System.currentTimeMillis() + Long.parseLong(rest.get(1)));
                }
                return;
            default:
                throw new IllegalArgumentException(kind + " is no queue");
        }
    }

    /** Several items in one node. */
    private void putTogether(String path, List<String> items) throws Exception {
        try (DistributedQueue<String> queue =
                QueueBuilder.builder(client, null, TEXT, path).putInBackground(false).buildQueue()) {
            queue.start();
            int[] next = {0};
            MultiItem<String> together = () -> next[0] < items.size() ? items.get(next[0]++) : null;
            queue.putMulti(together);
        }
    }

    private String take(String kind, String path, long millis) throws Exception {
        if (kind.equals("queue:simple")) {
            byte[] item = new SimpleDistributedQueue(client, path).poll(millis, TimeUnit.MILLISECONDS);
            return item == null ? null : new String(item, UTF_8);
        }
        if (!consumed.containsKey(path)) {
            consumed.put(path, consume(kind, path));
        }
        return consumed.get(path).poll(millis, TimeUnit.MILLISECONDS);
    }

    private BlockingQueue<String> consume(String kind, String path) throws Exception {
        BlockingQueue<String> items = new LinkedBlockingQueue<>();
        QueueBuilder<String> builder = QueueBuilder.builder(client, new QueueConsumer<>() {
            @Override
            public void consumeMessage(String item) {
                items.add(item);
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {}
        }, TEXT, path);
        switch (kind) {
            case "queue:distributed":
                builder.buildQueue().start();
                break;
            case "priority":
                builder.buildPriorityQueue(0).start();
                break;
            case "delay":
                builder.buildDelayQueue().start();
                break;
            default:
                throw new IllegalArgumentException(kind + " is no queue");
        }
        return items;
    }
}
