import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.curator.x.discovery.ServiceInstanceBuilder;
import org.apache.curator.x.discovery.ServiceProvider;
import org.apache.curator.x.discovery.ServiceType;
import org.apache.curator.x.discovery.UriSpec;
import org.apache.curator.x.discovery.details.JsonInstanceSerializer;

/** Curator's ServiceDiscovery with its JSON, one for each path of an owner. A payload is a text, or a Payload as `object:TEXT`. */
class CuratorServices {
    /** Of which JSON has the class. */
    public static class Payload {
        public String zone;
    }

    private final CuratorFramework client;
    private final Map<String, ServiceDiscovery<Object>> started = new HashMap<>();
    private final Map<String, ServiceInstance<Object>> registered = new HashMap<>();

    CuratorServices(CuratorFramework client) {
        this.client = client;
    }

    String obey(String verb, List<String> rest) throws Exception {
        String path = rest.get(1);
        String name = rest.get(2);
        switch (verb) {
            case "register":
                ServiceInstance<Object> made = made(rest.get(0), name, rest.subList(3, rest.size()));
                discovery(path).registerService(made);
                registered.put(path + "/" + name + "/" + made.getId(), made);
                return "";
            case "unregister":
                discovery(path).unregisterService(registered.remove(path + "/" + name + "/" + rest.get(3)));
                return "";
            case "instances":
                Collection<ServiceInstance<Object>> all = discovery(path).queryForInstances(name);
                return all.stream().map(CuratorServices::shown).sorted().collect(Collectors.joining(" "));
            case "services":
                return String.join(" ", discovery(path).queryForNames());
            case "pick":
                // Their cache leaves out what is disabled.
                try (ServiceProvider<Object> provider = discovery(path).serviceProviderBuilder().serviceName(name).build()) {
                    provider.start();
                    ServiceInstance<Object> one = provider.getInstance();
                    return one == null ? "none" : one.getId();
                }
            default:
                throw new IllegalArgumentException(verb + " is no verb of services");
        }
    }

    private ServiceDiscovery<Object> discovery(String path) throws Exception {
        if (!started.containsKey(path)) {
            ServiceDiscovery<Object> made = ServiceDiscoveryBuilder.builder(Object.class)
                .client(client)
                .basePath(path)
                .serializer(new JsonInstanceSerializer<>(Object.class))
                .build();
            made.start();
            started.put(path, made);
        }
        return started.get(path);
    }

    private static ServiceInstance<Object> made(String kind, String name, List<String> words) throws Exception {
        ServiceInstanceBuilder<Object> builder = ServiceInstance.builder()
            .name(name)
            .id(words.get(0))
            .address(words.get(1))
            .port(Integer.parseInt(words.get(2)))
            .serviceType(ServiceType.valueOf(kind.replace("service:", "").toUpperCase()))
            .uriSpec(new UriSpec("{scheme}://{address}:{port}/{name}"));
        String text = words.get(3);
        if (text.startsWith("object:")) {
            Payload payload = new Payload();
            payload.zone = text.replace("object:", "");
            return builder.payload(payload).build();
        }
        return text.equals("-") ? builder.build() : builder.payload(text).build();
    }

    private static String shown(ServiceInstance<Object> one) {
        Object payload = one.getPayload();
        if (payload instanceof Payload) {
            payload = "object:" + ((Payload) payload).zone;
        }
        return String.join("|", one.getId(), one.getAddress(), String.valueOf(one.getPort()),
            payload == null ? "-" : String.valueOf(payload).replace(" ", ""), one.getServiceType().name().toLowerCase(),
            one.buildUriSpec(), one.isEnabled() ? "on" : "off");
    }
}
