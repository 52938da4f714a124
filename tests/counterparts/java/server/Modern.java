package server;

import static server.Tools.JSON;

import io.modelcontextprotocol.modern.McpException;
import io.modelcontextprotocol.modern.McpSchema;
import io.modelcontextprotocol.modern.server.McpAsyncNotifier;
import io.modelcontextprotocol.modern.server.McpAsyncResponse;
import io.modelcontextprotocol.modern.server.McpRequestContext;
import io.modelcontextprotocol.modern.server.McpServer;
import io.modelcontextprotocol.modern.server.feature.McpAsyncTool;
import io.modelcontextprotocol.modern.server.feature.McpAsyncToolRepository;
import io.modelcontextprotocol.modern.server.feature.McpChangeFeed;
import io.modelcontextprotocol.modern.server.feature.ServerChange;
import io.modelcontextprotocol.modern.server.feature.ToolsFeature;
import io.modelcontextprotocol.modern.server.feature.ToolsPage;
import io.modelcontextprotocol.modern.server.transport.HttpServletMcpTransport;
import jakarta.servlet.http.HttpServlet;
import java.util.List;
import java.util.Map;
import reactor.core.publisher.Mono;

/** The modern half: {@code io.modelcontextprotocol.modern.server}. */
final class Modern {
    /** Small, so that the catalogue takes several pages. */
    private static final int PAGE_SIZE = 5;

    private Modern() {}

    static HttpServlet servlet(Tools tools) {
        var changes = new McpChangeFeed();
        tools.listen(new Tools.Listener() {
            @Override
            public void added(Map<String, Object> tool) {
                changes.broadcast(new ServerChange.ToolsListChanged());
            }

            @Override
            public void removed(String name) {
                changes.broadcast(new ServerChange.ToolsListChanged());
            }
        });
        McpServer server = McpServer.builder()
            .serverInfo(McpSchema.Implementation.builder("counterpart-java", "1.0.0").build())
            .feature(ToolsFeature.ofAsync(new Repository(tools)))
            .subscriptions(changes)
            .build();
        return HttpServletMcpTransport.builder(server).build();
    }

    private record Repository(Tools tools) implements McpAsyncToolRepository {
        @Override
        public Mono<ToolsPage> list(McpRequestContext context, String cursor) {
            int start;
            try {
                start = cursor == null ? 0 : Integer.parseInt(cursor.replaceFirst("^from-", ""));
            } catch (NumberFormatException error) {
                return Mono.error(McpException.invalidParams("no such cursor"));
            }
            List<McpSchema.Tool> all = tools.definitions().stream().map(Repository::parsed).toList();
            int end = Math.min(start + PAGE_SIZE, all.size());
            String next = end < all.size() ? "from-" + end : null;
            return Mono.just(new ToolsPage(all.subList(Math.min(start, end), end), next, 0L, McpSchema.CacheScope.PUBLIC));
        }

        @Override
        public Mono<McpAsyncTool> find(McpRequestContext context, String name) {
            return Mono.justOrEmpty(
                tools.definitions().stream()
                    .filter(definition -> definition.get("name").equals(name))
                    .findFirst()
                    .map(definition -> McpAsyncTool.of(parsed(definition), this::call)));
        }

        private Mono<McpAsyncResponse<McpSchema.CallToolOutcome>> call(
            McpRequestContext context, McpSchema.CallToolRequest request) {
            return Mono.just(McpAsyncResponse.streaming(
                notifier -> tools.call(request.name(), request.arguments(), caller(context, notifier))
                    .map(result -> JSON.convertValue(result, McpSchema.CallToolResult.class))));
        }

        private static McpSchema.Tool parsed(Map<String, Object> definition) {
            return JSON.convertValue(definition, McpSchema.Tool.class);
        }
    }

    private static Tools.Caller caller(McpRequestContext context, McpAsyncNotifier notifier) {
        return new Tools.Caller() {
            @Override
            public String session() {
                return null;
            }

            @Override
            public Mono<Void> progress(int step, int total, String message) {
                return notifier.progress(step, (double) total, message);
            }

            /** The SDK's modern half knows nothing of logging, which its revision has deprecated and not dropped. */
            @Override
            public Mono<Void> log(Map<String, Object> data) {
                return context.meta().containsKey("io.modelcontextprotocol/logLevel")
                    ? notifier.notify("notifications/message", Map.of("level", "info", "logger", "slow", "data", data))
                    : Mono.empty();
            }
        };
    }
}
