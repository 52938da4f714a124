/** A server on @modelcontextprotocol/sdk 1.x: legacy alone, one server instance a session. */

import { randomUUID } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
    CallToolRequestSchema,
    ErrorCode,
    isInitializeRequest,
    ListToolsRequestSchema,
    McpError
} from '@modelcontextprotocol/sdk/types.js';
import { callTool, catalogue, pageOf, serve, text, UnknownTool } from './hosting.mjs';

const tools = catalogue({ without: ['routed'] });
const sessions = new Map();

function createInstance() {
    let count = 0;
    const server = new Server(
        { name: 'counterpart-node-legacy', version: '1.0.0' },
        { capabilities: { tools: { listChanged: true }, logging: {} } }
    );
    server.setRequestHandler(ListToolsRequestSchema, request => pageOf(tools, request.params?.cursor));
    server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
        const { name, arguments: args = {} } = request.params;
        if (name === 'counter') return text(String((count += 1)));
        const token = extra._meta?.progressToken;
        const reply = {
            signal: extra.signal,
            progress: async (progress, total, message) => {
                if (token === undefined) return;
                const params = { progressToken: token, progress, total, message };
                await extra.sendNotification({ method: 'notifications/progress', params });
            },
            log: data =>
                extra.sendNotification({ method: 'notifications/message', params: { level: 'info', logger: 'slow', data } }),
            announce: () => Promise.all([...sessions.values()].map(session => session.server.sendToolListChanged()))
        };
        try {
            return await callTool(tools, name, args, reply);
        } catch (error) {
            if (error instanceof UnknownTool) throw new McpError(ErrorCode.InvalidParams, error.message);
            throw error;
        }
    });
    return server;
}

async function bodyOf(req) {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    return chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
}

function refuse(res, status, code, message) {
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}

serve(async (req, res) => {
    const body = req.method === 'POST' ? await bodyOf(req) : undefined;
    const id = req.headers['mcp-session-id'];
    let session = sessions.get(id);
    if (session === undefined && id !== undefined) return refuse(res, 404, -32_001, 'Session not found');
    if (session === undefined && !isInitializeRequest(body)) return refuse(res, 400, -32_000, 'No valid session ID provided');
    if (session === undefined) {
        const transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: id => void sessions.set(id, session),
            onsessionclosed: id => void sessions.delete(id)
        });
        session = { server: createInstance(), transport };
        await session.server.connect(transport);
    }
    await session.transport.handleRequest(req, res, body);
});
