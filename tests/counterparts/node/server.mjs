/** A server on @modelcontextprotocol/server 2.x: modern, and legacy without sessions for clients that initialize. */

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { callTool, catalogue, pageOf, serve, UnknownTool } from './hosting.mjs';

// No `counter`: there is no session whose calls it could count.
const tools = catalogue({ without: ['counter'] });

function createInstance() {
    const server = new Server(
        { name: 'counterpart-node', version: '1.0.0' },
        { capabilities: { tools: { listChanged: true }, logging: {} } }
    );
    server.setRequestHandler('tools/list', request => ({
        ...pageOf(tools, request.params?.cursor),
        ttlMs: 0,
        cacheScope: 'public'
    }));
    server.setRequestHandler('tools/call', async (request, ctx) => {
        const token = ctx.mcpReq._meta?.progressToken;
        const reply = {
            signal: ctx.mcpReq.signal,
            progress: async (progress, total, message) => {
                if (token === undefined) return;
                const params = { progressToken: token, progress, total, message };
                await ctx.mcpReq.notify({ method: 'notifications/progress', params });
            },
            log: data => ctx.mcpReq.log('info', data, 'slow'),
            announce: () => handler.notify.toolsChanged()
        };
        try {
            return await callTool(tools, request.params.name, request.params.arguments ?? {}, reply);
        } catch (error) {
            if (error instanceof UnknownTool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
            throw error;
        }
    });
    return server;
}

const handler = createMcpHandler(createInstance);
serve(toNodeHandler(handler));
