package server;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;

/** The catalogue and what its tools do, as JSON: each era's half of the SDK has classes of its own for all of it. */
final class Tools {
    /** What differs between the eras while a tool works. */
    interface Caller {
        /** The caller's session; null where there is none. */
        String session();

        Mono<Void> progress(int step, int total, String message);

        Mono<Void> log(Map<String, Object> data);
    }

    /** Told of every change, after it was made. */
    interface Listener {
        void added(Map<String, Object> tool);

        void removed(String name);
    }

    static final McpJsonMapper JSON = McpJsonDefaults.getMapper();

    private final List<Map<String, Object>> definitions;
    private final List<Listener> listeners = new CopyOnWriteArrayList<>();
    private final Map<String, AtomicInteger> counters = new ConcurrentHashMap<>();
    private final AtomicInteger cancelled = new AtomicInteger();

    Tools(String leftOut) throws IOException {
        try (InputStream catalogue = Tools.class.getResourceAsStream("/tools.json")) {
            List<Map<String, Object>> all = JSON.readValue(catalogue.readAllBytes(), new TypeRef<>() {});
            definitions = new CopyOnWriteArrayList<>(all);
        }
        definitions.removeIf(tool -> tool.get("name").equals(leftOut));
    }

    void listen(Listener listener) {
        listeners.add(listener);
    }

    List<Map<String, Object>> definitions() {
        return new ArrayList<>(definitions);
    }

    /** Answers a call of a tool that is there, as a {@code tools/call} result. */
    Mono<Map<String, Object>> call(String name, Map<String, Object> args, Caller caller) {
        return switch (name) {
            case "echo" -> Mono.just(text(args.get("text")));
            case "add" -> {
                int sum = number(args, "a") + number(args, "b");
                yield Mono.just(structured(sum, Map.of("sum", sum)));
            }
            case "fail" -> Mono.just(Map.of("content", content(args.get("reason")), "isError", true));
            case "slow" -> slow(number(args, "steps"), Duration.ofMillis(number(args, "delay_ms")), caller);
            case "cancelled_count" -> Mono.just(text(cancelled));
            case "counter" -> Mono.just(
                text(counters.computeIfAbsent(caller.session(), session -> new AtomicInteger()).incrementAndGet()));
            case "grow" -> {
                Map<String, Object> tool = Map.of(
                    "name", args.get("name"), "description", "Added at run time.", "inputSchema", Map.of("type", "object"));
                definitions.add(tool);
                listeners.forEach(listener -> listener.added(tool));
                yield Mono.just(text(args.get("name")));
            }
            case "shrink" -> {
                definitions.removeIf(tool -> tool.get("name").equals(args.get("name")));
                listeners.forEach(listener -> listener.removed((String) args.get("name")));
                yield Mono.just(text(args.get("name")));
            }
            case "decorated" -> Mono.just(decorated());
            case "routed" -> Mono.just(structured(args.get("region"), args));
            default -> Mono.just(text(name));
        };
    }

    /** A caller that has gone is told of in two ways: by cancelling, and by an error of what is sent to it. */
    private Mono<Map<String, Object>> slow(int steps, Duration delay, Caller caller) {
        return Flux.range(1, steps)
            .concatMap(step -> Mono.delay(delay)
                .then(caller.progress(step, steps, "step " + step))
                .then(caller.log(Map.of("step", step))))
            .then(Mono.fromSupplier(() -> text(steps + " steps")))
            .doFinally(end -> {
                if (end != SignalType.ON_COMPLETE) {
                    cancelled.incrementAndGet();
                }
            });
    }

    private static int number(Map<String, Object> args, String name) {
        return ((Number) args.get(name)).intValue();
    }

    private static Map<String, Object> text(Object value) {
        return Map.of("content", content(value));
    }

    private static Map<String, Object> structured(Object text, Object content) {
        return Map.of("content", content(text), "structuredContent", content);
    }

    private static List<Object> content(Object text) {
        return List.of(Map.of("type", "text", "text", String.valueOf(text)));
    }

    private static Map<String, Object> decorated() {
        return Map.of(
            "content", List.of(
                Map.of(
                    "type", "text",
                    "text", "one of each",
                    "annotations", Map.of("audience", List.of("user"), "priority", 0.5),
                    "_meta", Map.of("a", 1)),
                Map.of("type", "image", "data", "iVBORw0KGgo=", "mimeType", "image/png"),
                Map.of("type", "audio", "data", "UklGRg==", "mimeType", "audio/wav"),
                Map.of(
                    "type", "resource",
                    "resource", Map.of("uri", "demo://text", "mimeType", "text/plain", "text", "embedded")),
                Map.of("type", "resource_link", "name", "link", "uri", "demo://link", "description", "linked", "size", 3)),
            "_meta", Map.of("example.com/trace", "abc"));
    }
}
