/** A client on @modelcontextprotocol/client 2.x, which finds the server's era. */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { authorization, drive } from './driving.mjs';
import { signingIn } from './signing_in.mjs';

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

drive(async (url, token, event) => {
    let listChanged = () => {};
    const client = new Client({ name: 'counterpart-node', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    client.setNotificationHandler('notifications/message', ({ params }) => event('log', params));
    client.setNotificationHandler('notifications/tools/list_changed', () => listChanged());
    const { options, signedIn } = signingIn();
    const open = () =>
        new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: authorization(token) }, ...options });
    let transport;
    await signedIn(
        () => transport,
        () => client.connect((transport = open()))
    );
    const modern = client.getProtocolEra() === 'modern';
    const meta = modern ? { _meta: { [LOG_LEVEL]: 'info' } } : {};
    if (!modern && client.getServerCapabilities()?.logging) await client.setLoggingLevel('info');
    let subscription;

    return {
        info: {
            version: client.getNegotiatedProtocolVersion(),
            serverInfo: client.getServerVersion() ?? null,
            capabilities: client.getServerCapabilities()
        },
        // Without a cursor the SDK walks all pages by itself; this is its answer to "everything", in one page.
        listPage: cursor =>
            signedIn(
                () => transport,
                () => client.listTools(cursor === undefined ? undefined : { cursor }, { cacheMode: 'refresh' })
            ),
        call: (name, args, options) => client.callTool({ name, arguments: args, ...meta }, options),
        async listen(onChange) {
            listChanged = onChange;
            if (!modern) return {};
            subscription = await client.listen({ toolsListChanged: true });
            return subscription.honoredFilter;
        },
        async close() {
            await subscription?.close();
            if (transport.sessionId) await transport.terminateSession();
            await client.close();
        }
    };
});
