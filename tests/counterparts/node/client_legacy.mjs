/** A client on @modelcontextprotocol/sdk 1.x: legacy alone. */

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CallToolResultSchema,
    LoggingMessageNotificationSchema,
    ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { authorization, drive } from './driving.mjs';
import { signingIn } from './signing_in.mjs';

drive(async (url, token, event) => {
    let listChanged = () => {};
    const client = new Client({ name: 'counterpart-node-legacy', version: '1.0.0' });
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => event('log', params));
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => listChanged());
    const { options, signedIn } = signingIn();
    const open = () =>
        new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: authorization(token) }, ...options });
    let transport;
    await signedIn(
        () => transport,
        () => client.connect((transport = open()))
    );
    if (client.getServerCapabilities()?.logging) await client.setLoggingLevel('info');

    return {
        info: {
            version: transport.protocolVersion,
            serverInfo: client.getServerVersion() ?? null,
            capabilities: client.getServerCapabilities()
        },
        listPage: cursor =>
            signedIn(
                () => transport,
                () => client.listTools(cursor === undefined ? undefined : { cursor })
            ),
        call: (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, options),
        async listen(onChange) {
            listChanged = onChange;
            return {};
        },
        async close() {
            await transport.terminateSession();
            await client.close();
        }
    };
});
