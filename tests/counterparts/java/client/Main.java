package client;

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.client.transport.McpHttpStatusException;
import io.modelcontextprotocol.spec.McpError;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The client on the Java SDK, driven by the line protocol of ../../README.md. The SDK has a client for each era and leaves the
 * choice to the application: this one asks in the modern era first, and with {@code --legacy} not at all.
 */
public final class Main {
    private static final McpJsonMapper JSON = McpJsonDefaults.getMapper();
    private static final PrintStream OUTPUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final boolean legacyAlone;
    private final Map<Long, CompletableFuture<?>> calls = new ConcurrentHashMap<>();
    private volatile Connection connection;

    private Main(boolean legacyAlone) {
        this.legacyAlone = legacyAlone;
    }

    public static void main(String[] arguments) throws IOException {
        Main main = new Main(Arrays.asList(arguments).contains("--legacy"));
        ExecutorService answering = Executors.newCachedThreadPool();
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> request = JSON.readValue(line, new TypeRef<>() {});
            answering.execute(() -> main.serve(number(request.get("id")), request));
        }
        System.exit(0);
    }

    private void serve(long id, Map<String, Object> request) {
        try {
            say(id, "result", answer(id, request));
        } catch (Exception error) { // whatever an SDK throws is what the test wants to see
            say(id, "error", described(error));
        }
    }

    private Object answer(long id, Map<String, Object> request) throws IOException {
        return switch ((String) request.get("op")) {
            case "connect" -> {
                connection = connect(id, (String) request.get("url"), (String) request.get("token"));
                yield connection.info();
            }
            case "list" -> list();
            case "call" -> call(id, request);
            case "cancel" -> {
                calls.get(number(request.get("request"))).cancel(true);
                yield Map.of();
            }
            case "listen" -> connection.listen(id);
            case "close" -> {
                connection.close();
                yield Map.of();
            }
            default -> throw new IllegalArgumentException("unknown request: " + request);
        };
    }

    private Connection connect(long id, String url, String token) {
        if (!legacyAlone) {
            try {
                Modern modern = new Modern(id, url, token, Main::tell);
                if (modern.isCommon()) {
                    return modern;
                }
            } catch (McpException | McpHttpStatusException notModern) {
                // That is how most servers of the other era say it.
            }
        }
        return new Legacy(id, url, token, Main::tell);
    }

    private Object list() {
        List<Object> tools = new ArrayList<>();
        int pages = 0;
        String cursor = null;
        do {
            Connection.Page page = connection.list(cursor);
            tools.addAll(page.tools());
            pages += 1;
            cursor = page.nextCursor();
        } while (cursor != null);
        return Map.of("tools", tools, "pages", pages);
    }

    @SuppressWarnings("unchecked")
    private Object call(long id, Map<String, Object> request) {
        var arguments = (Map<String, Object>) request.get("arguments");
        CompletableFuture<?> call = connection.call(id, (String) request.get("name"), arguments);
        calls.put(id, call);
        try {
            return call.join();
        } finally {
            calls.remove(id);
        }
    }

    private static long number(Object json) {
        return ((Number) json).longValue();
    }

    private static Map<String, Object> described(Throwable error) {
        if (error instanceof CompletionException wrapped && wrapped.getCause() != null) {
            return described(wrapped.getCause());
        }
        if (error instanceof CancellationException) {
            return Map.of("cancelled", true);
        }
        if (error instanceof McpException answered) {
            var wire = answered.error();
            return described(wire.code(), wire.message(), wire.data());
        }
        if (error instanceof McpError answered && answered.getJsonRpcError() != null) {
            var wire = answered.getJsonRpcError();
            return described(wire.code(), wire.message(), wire.data());
        }
        return Map.of("exception", error.getClass().getSimpleName(), "message", String.valueOf(error.getMessage()));
    }

    private static Map<String, Object> described(int code, String message, Object data) {
        Map<String, Object> described = new HashMap<>(Map.of("code", code, "message", message));
        described.put("data", data);
        return described;
    }

    private static void tell(long id, String name, Object params) {
        write(Map.of("id", id, "event", name, "params", params));
    }

    private static void say(long id, String member, Object value) {
        write(Map.of("id", id, member, value));
    }

    private static void write(Object line) {
        try {
            OUTPUT.println(JSON.writeValueAsString(line));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }
}
