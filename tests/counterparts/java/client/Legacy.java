package client;

import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.json.TypeRef;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpSchema;
import java.net.URI;
import java.net.http.HttpRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/** The legacy half: {@code io.modelcontextprotocol.client}. */
final class Legacy implements Connection {
    private final Numbered transport;
    private final McpAsyncClient client;
    private final McpSchema.InitializeResult server;
    /** 0: nobody listens. */
    private volatile long listening;

    @SuppressWarnings("deprecation") // Logging is deprecated as of 2026-07-28, and still part of it.
    Legacy(long id, String url, String token, Events events) {
        URI uri = URI.create(url);
        transport = new Numbered(
            HttpClientStreamableHttpTransport.builder(uri.resolve("/").toString())
                .endpoint(uri.getPath())
                .requestBuilder(presenting(token))
                .build());
        client = McpClient.async(transport)
            .clientInfo(new McpSchema.Implementation("counterpart-java", "1.0.0"))
            .loggingConsumer(message -> Mono.fromRunnable(() -> events.tell(id, "log", message)))
            .progressConsumer(progress -> Mono.fromRunnable(
                () -> events.tell(((Number) progress.progressToken()).longValue(), "progress", progress)))
            .toolsChangeConsumer(tools -> Mono.fromRunnable(() -> {
                if (listening != 0) {
                    events.tell(listening, "list_changed", Map.of());
                }
            }))
            .build();
        server = client.initialize().block();
        if (server.capabilities().logging() != null) {
            client.setLoggingLevel(McpSchema.LoggingLevel.INFO).block();
        }
    }

    private static HttpRequest.Builder presenting(String token) {
        var request = HttpRequest.newBuilder();
        return token == null ? request : request.header("Authorization", "Bearer " + token);
    }

    @Override
    public Map<String, Object> info() {
        return Map.of(
            "version", server.protocolVersion(),
            "serverInfo", server.serverInfo(),
            "capabilities", server.capabilities());
    }

    @Override
    public Page list(String cursor) {
        McpSchema.ListToolsResult page = client.listTools(cursor).block();
        return new Page(page.tools(), page.nextCursor());
    }

    /** The SDK tells the server nothing of a cancelled call, and keeps the request's id to itself. */
    @Override
    public CompletableFuture<?> call(long id, String tool, Map<String, Object> arguments) {
        var request = McpSchema.CallToolRequest.builder(tool).arguments(arguments).progressToken(id).build();
        return client.callTool(request).doOnCancel(() -> transport.cancel(request)).toFuture();
    }

    @Override
    public Object listen(long id) {
        listening = id; // the SDK has been listening since it connected
        return Map.of();
    }

    @Override
    public void close() {
        client.closeGracefully().block();
    }

    /** Knows the ids of calls. */
    private static final class Numbered implements McpClientTransport {
        private final McpClientTransport transport;
        private final Map<McpSchema.CallToolRequest, Object> ids = new ConcurrentHashMap<>();

        Numbered(McpClientTransport transport) {
            this.transport = transport;
        }

        void cancel(McpSchema.CallToolRequest call) {
            var cancelled = Map.of("requestId", ids.get(call), "reason", "the test asked for it");
            sendMessage(new McpSchema.JSONRPCNotification("notifications/cancelled", cancelled)).subscribe();
        }

        @Override
        public Mono<Void> sendMessage(McpSchema.JSONRPCMessage message) {
            if (message instanceof McpSchema.JSONRPCRequest request
                && request.params() instanceof McpSchema.CallToolRequest call) {
                ids.put(call, request.id());
            }
            return transport.sendMessage(message);
        }

        @Override
        public Mono<Void> connect(Function<Mono<McpSchema.JSONRPCMessage>, Mono<McpSchema.JSONRPCMessage>> handler) {
            return transport.connect(handler);
        }

        @Override
        public void setExceptionHandler(Consumer<Throwable> handler) {
            transport.setExceptionHandler(handler);
        }

        @Override
        public List<String> protocolVersions() {
            return transport.protocolVersions();
        }

        @Override
        public <T> T unmarshalFrom(Object data, TypeRef<T> type) {
            return transport.unmarshalFrom(data, type);
        }

        @Override
        public Mono<Void> closeGracefully() {
            return transport.closeGracefully();
        }
    }
}
