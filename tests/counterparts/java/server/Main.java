package server;

import jakarta.servlet.ServletConfig;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import org.eclipse.jetty.ee11.servlet.ServletContextHandler;
import org.eclipse.jetty.ee11.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * The server on the Java SDK, which has a half for each era. Here they share an endpoint, where the SDK leaves it to the
 * application to tell their requests apart. With {@code --sessions} it is legacy alone.
 */
public final class Main {
    /** Longer than any test: between the SDKs' clients and a server that closes an idle connection, requests get lost. */
    private static final long IDLE_MS = 300_000;

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        List<String> options = List.of(arguments);
        boolean legacyAlone = options.contains("--sessions");
        int port = options.contains("--port") ? Integer.parseInt(options.get(options.indexOf("--port") + 1)) : 0;
        // Without a session there are no calls to count, and before the modern era no headers to mirror in.
        Tools tools = new Tools(legacyAlone ? "routed" : "counter");
        HttpServlet legacy = Legacy.servlet(tools);

        Server server = new Server(new InetSocketAddress("127.0.0.1", port));
        ServerConnector connector = (ServerConnector) server.getConnectors()[0];
        connector.setIdleTimeout(IDLE_MS);
        ServletHolder holder = new ServletHolder(legacyAlone ? legacy : new BothEras(Modern.servlet(tools), legacy));
        holder.setAsyncSupported(true);
        ServletContextHandler context = new ServletContextHandler();
        context.addServlet(holder, "/mcp");
        server.setHandler(context);
        server.start();
        System.out.println(
            Tools.JSON.writeValueAsString(Map.of("url", "http://127.0.0.1:" + connector.getLocalPort() + "/mcp")));
        // Ends with standard input, so that no counterpart outlives its test run.
        System.in.transferTo(OutputStream.nullOutputStream());
        System.exit(0);
    }

    /** Modern requests name their revision in a header that legacy ones do not have, or have with an older one. */
    private static final class BothEras extends HttpServlet {
        private final HttpServlet modern;
        private final HttpServlet legacy;

        BothEras(HttpServlet modern, HttpServlet legacy) {
            this.modern = modern;
            this.legacy = legacy;
        }

        @Override
        public void init(ServletConfig config) throws ServletException {
            super.init(config);
            modern.init(config);
            legacy.init(config);
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
            String version = request.getHeader("MCP-Protocol-Version");
            boolean isModern = version != null && version.compareTo("2026-07-28") >= 0;
            (isModern ? modern : legacy).service(request, response);
        }
    }
}
