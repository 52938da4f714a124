package client;

import io.modelcontextprotocol.modern.JsonRpc;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.client.McpAsyncClient;
import io.modelcontextprotocol.modern.client.McpClient;
import io.modelcontextprotocol.modern.client.SubscriptionEvent;
import io.modelcontextprotocol.modern.client.transport.HttpClientMcpTransport;
import io.modelcontextprotocol.modern.client.transport.McpClientTransport;
import io.modelcontextprotocol.modern.client.transport.McpHttpRequestCustomizer;
import io.modelcontextprotocol.modern.client.transport.McpTransportRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The modern half: {@code io.modelcontextprotocol.modern.client}. */
final class Modern implements Connection {
    private static final String VERSION = "2026-07-28";
    private static final String META = "io.modelcontextprotocol/";

    private final McpAsyncClient client;
    private final McpSchema.DiscoverResult server;
    private final Events events;
    private Disposable subscription = () -> {};

    Modern(long id, String url, String token, Events events) {
        this.events = events;
        var transport = HttpClientMcpTransport.builder(url);
        if (token != null) {
            transport.requestCustomizer(McpHttpRequestCustomizer.fromSync(
                (request, headers, context) -> headers.set("Authorization", "Bearer " + token)));
        }
        client = McpClient.async(new Logging(transport.build(), id, events))
            .clientInfo(McpSchema.Implementation.builder("counterpart-java", "1.0.0").build())
            .build();
        server = client.discover().block();
    }

    /** Whether the server speaks this era, too: one of the other may well answer. */
    boolean isCommon() {
        return server.supportedVersions().contains(VERSION);
    }

    @Override
    public Map<String, Object> info() {
        Map<String, Object> info = new HashMap<>();
        info.put("version", VERSION);
        info.put("serverInfo", server.meta() == null ? null : server.meta().get(META + "serverInfo"));
        info.put("capabilities", server.capabilities());
        return info;
    }

    @Override
    public Page list(String cursor) {
        McpSchema.ListToolsResult page = client.tools().cursor(cursor).list().block();
        return new Page(page.tools(), page.nextCursor());
    }

    @Override
    public CompletableFuture<?> call(long id, String tool, Map<String, Object> arguments) {
        // By name the SDK calls only what it finds in the list, and here it is the server that shall refuse.
        var unlisted = McpSchema.Tool.builder(tool, Map.of("type", "object")).build();
        return call(id, client.tool(tool), arguments)
            .onErrorResume(IllegalArgumentException.class, error -> call(id, client.tool(unlisted), arguments))
            .toFuture();
    }

    private Mono<McpSchema.CallToolResult> call(long id, McpAsyncClient.ToolSpec tool, Map<String, Object> arguments) {
        return tool.arguments(arguments)
            .progress(progress -> Mono.fromRunnable(() -> events.tell(id, "progress", progress)))
            .call();
    }

    @Override
    public Object listen(long id) {
        var subscribed = new CompletableFuture<Object>();
        subscription = client.listen().toolsChanged().events().subscribe(
            event -> {
                if (event instanceof SubscriptionEvent.Subscribed agreed) {
                    subscribed.complete(agreed.honoured().fields());
                } else {
                    events.tell(id, "list_changed", Map.of());
                }
            },
            subscribed::completeExceptionally);
        return subscribed.join();
    }

    @Override
    public void close() {
        subscription.dispose();
    }

    /** Asks for log messages and hears them, which the SDK's modern half does not: its revision has deprecated them. */
    private record Logging(McpClientTransport transport, long id, Events events) implements McpClientTransport {
        @Override
        public boolean mirrorsToolParams() {
            return transport.mirrorsToolParams();
        }

        @Override
        public Flux<JsonRpc.JSONRPCMessage> exchange(McpTransportRequest request) {
            return transport.exchange(asking(request)).doOnNext(message -> {
                if (message instanceof JsonRpc.JSONRPCNotification said && said.method().equals("notifications/message")) {
                    events.tell(id, "log", said.params());
                }
            });
        }

        private static McpTransportRequest asking(McpTransportRequest request) {
            Map<Object, Object> params = new HashMap<>((Map<?, ?>) request.message().params());
            Map<Object, Object> meta = new HashMap<>((Map<?, ?>) params.get("_meta"));
            meta.put(META + "logLevel", "info");
            params.put("_meta", meta);
            var message = new JsonRpc.JSONRPCRequest(request.method(), request.message().id(), params);
            return McpTransportRequest.builder(message, request.protocolVersion())
                .name(request.name())
                .paramHeaders(request.paramHeaders())
                .roundTimeout(request.roundTimeout())
                .build();
        }
    }
}
