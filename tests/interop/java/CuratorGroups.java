import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.nodes.GroupMember;

/** Curator's GroupMember, one for each path of an owner. */
class CuratorGroups {
    private final CuratorFramework client;
    private final Map<String, GroupMember> joined = new HashMap<>();

    CuratorGroups(CuratorFramework client) {
        this.client = client;
    }

    String obey(String verb, List<String> rest) {
        String path = rest.get(1);
        switch (verb) {
            case "join":
                GroupMember member = new GroupMember(client, path, rest.get(2), rest.get(3).getBytes(UTF_8));
                member.start();
                joined.put(path, member);
                return "";
            case "update":
                joined.get(path).setThisData(rest.get(2).getBytes(UTF_8));
                return "";
            case "leave":
                joined.remove(path).close();
                return "";
            case "members":
                return joined.get(path).getCurrentMembers().entrySet().stream()
                    .map(one -> one.getKey() + "=" + new String(one.getValue(), UTF_8))
                    .collect(Collectors.joining(" "));
            default:
                throw new IllegalArgumentException(verb + " is no verb of groups");
        }
    }
}
