/** A client on @modelcontextprotocol/sdk 1.x: legacy alone. */

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CallToolResultSchema,
    LoggingMessageNotificationSchema,
    ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { drive } from './driving.mjs';

drive(async (url, event) => {
    let listChanged = () => {};
    const client = new Client({ name: 'counterpart-node-legacy', version: '1.0.0' });
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => event('log', params));
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => listChanged());
    const transport = new StreamableHTTPClientTransport(new URL(url));
    await client.connect(transport);
    if (client.getServerCapabilities()?.logging) await client.setLoggingLevel('info');

    return {
        info: {
            version: transport.protocolVersion,
            serverInfo: client.getServerVersion() ?? null,
            capabilities: client.getServerCapabilities()
        },
        listPage: cursor => client.listTools(cursor === undefined ? undefined : { cursor }),
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
