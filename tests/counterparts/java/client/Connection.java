package client;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A connection of either era, with results as the SDK's own objects, to be written out by its own JSON mapper. */
interface Connection extends AutoCloseable {
    /** What the driver is told besides answers: an event of the request with this {@code id}. */
    interface Events {
        void tell(long id, String name, Object params);
    }

    /** One page of a list. */
    record Page(List<?> tools, String nextCursor) {}

    /** {@code version}, {@code serverInfo} and {@code capabilities}. */
    Map<String, Object> info();

    Page list(String cursor);

    /** Calls a tool; to cancel the future is to cancel the call, and to tell the server. */
    CompletableFuture<?> call(long id, String tool, Map<String, Object> arguments);

    /** Tells of each change of the list from now on, and answers with what the server agreed to. */
    Object listen(long id);

    @Override
    void close() throws IOException;
}
