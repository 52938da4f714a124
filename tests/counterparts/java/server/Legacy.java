package server;

import static server.Tools.JSON;

import io.modelcontextprotocol.server.McpAsyncServer;
import io.modelcontextprotocol.server.McpAsyncServerExchange;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.AsyncToolSpecification;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema;
import jakarta.servlet.http.HttpServlet;
import java.util.Map;
import reactor.core.publisher.Mono;

/** The legacy half: {@code io.modelcontextprotocol.server}, with sessions. */
final class Legacy {
    private Legacy() {}

    static HttpServlet servlet(Tools tools) {
        var transport = HttpServletStreamableServerTransportProvider.builder().build();
        McpAsyncServer server = McpServer.async(transport)
            .serverInfo("counterpart-java", "1.0.0")
            .capabilities(McpSchema.ServerCapabilities.builder().tools(true).build())
            .tools(tools.definitions().stream().map(definition -> specification(tools, definition)).toList())
            .build();
        tools.listen(new Tools.Listener() {
            @Override
            public void added(Map<String, Object> tool) {
                server.addTool(specification(tools, tool)).block();
            }

            @Override
            public void removed(String name) {
                server.removeTool(name).block();
            }
        });
        return transport;
    }

    private static AsyncToolSpecification specification(Tools tools, Map<String, Object> definition) {
        return AsyncToolSpecification.builder()
            .tool(JSON.convertValue(definition, McpSchema.Tool.class))
            .callHandler((exchange, request) -> tools.call(request.name(), request.arguments(), caller(exchange, request))
                .map(result -> JSON.convertValue(result, McpSchema.CallToolResult.class)))
            .build();
    }

    private static Tools.Caller caller(McpAsyncServerExchange exchange, McpSchema.CallToolRequest request) {
        return new Tools.Caller() {
            @Override
            public String session() {
                return exchange.sessionId();
            }

            @Override
            public Mono<Void> progress(int step, int total, String message) {
                Object token = request.progressToken();
                return token == null
                    ? Mono.empty()
                    : exchange.progressNotification(
                        McpSchema.ProgressNotification.builder(token, step).total((double) total).message(message).build());
            }

            @Override
            @SuppressWarnings("deprecation") // Logging is deprecated as of 2026-07-28, and still part of it.
            public Mono<Void> log(Map<String, Object> data) {
                return exchange.loggingNotification(
                    new McpSchema.LoggingMessageNotification(McpSchema.LoggingLevel.INFO, "slow", data.toString()));
            }
        };
    }
}
