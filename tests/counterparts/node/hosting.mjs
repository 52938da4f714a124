/** What the Node counterpart servers share: the catalogue, pages, the tools' behaviour, and a server on a free port. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const PAGE_SIZE = 5;

/**
 * The tool definitions of tools.json by name, in the file's order.
 * JavaScript's numbers are doubles: the huge bounds of `rich` leave this process rounded, as they would from any Node server.
 */
export function catalogue({ without = [] } = {}) {
    const tools = JSON.parse(readFileSync(new URL('../tools.json', import.meta.url), 'utf8'));
    return new Map(tools.filter(tool => !without.includes(tool.name)).map(tool => [tool.name, tool]));
}

/** One page and the cursor of the next, as a tools/list result. */
export function pageOf(tools, cursor) {
    const all = [...tools.values()];
    const start = cursor === undefined ? 0 : Number(cursor.replace(/^from-/, ''));
    const end = start + PAGE_SIZE;
    return { tools: all.slice(start, end), ...(end < all.length && { nextCursor: `from-${end}` }) };
}

export const text = (value, rest = {}) => ({ content: [{ type: 'text', text: value }], ...rest });

export class UnknownTool extends Error {}

let cancelled = 0;

/**
 * Answers a call. `reply` is what differs between the SDKs: `progress(step, total, message)`, `log(data)`, `signal`, and
 * `announce()`, which tells whoever listens that the list has changed.
 */
export async function callTool(tools, name, args, reply) {
    switch (name) {
        case 'echo':
            return text(args.text);
        case 'add':
            return text(String(args.a + args.b), { structuredContent: { sum: args.a + args.b } });
        case 'fail':
            return text(args.reason, { isError: true });
        case 'slow':
            return slow(args, reply);
        case 'cancelled_count':
            return text(String(cancelled));
        case 'grow':
            tools.set(args.name, { name: args.name, description: 'Added at run time.', inputSchema: { type: 'object' } });
            await reply.announce();
            return text(args.name);
        case 'shrink':
            tools.delete(args.name);
            await reply.announce();
            return text(args.name);
        case 'decorated':
            return {
                content: [
                    { type: 'text', text: 'one of each', annotations: { audience: ['user'], priority: 0.5 }, _meta: { a: 1 } },
                    { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
                    { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
                    { type: 'resource', resource: { uri: 'demo://text', mimeType: 'text/plain', text: 'embedded' } },
                    { type: 'resource_link', name: 'link', uri: 'demo://link', description: 'linked', size: 3 }
                ],
                _meta: { 'example.com/trace': 'abc' }
            };
        case 'routed':
            return text(args.region, { structuredContent: args });
        default:
            if (tools.has(name)) return text(name);
            throw new UnknownTool(`Unknown tool: ${name}`);
    }
}

async function slow({ steps, delay_ms: delay }, reply) {
    for (let step = 1; step <= steps; step++) {
        await sleep(delay);
        if (reply.signal.aborted) {
            cancelled += 1;
            throw reply.signal.reason;
        }
        await reply.progress(step, steps, `step ${step}`);
        await reply.log({ step });
    }
    return text(`${steps} steps`);
}

/**
 * Serves `handler(req, res)` under /mcp and prints one JSON line with its URL when it accepts connections.
 * Ends with standard input, so that no counterpart outlives its test run.
 */
export function serve(handler) {
    const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } });
    const server = createServer((req, res) => {
        if (req.url.split('?')[0] !== '/mcp') return res.writeHead(404).end();
        return handler(req, res);
    });
    // Node would otherwise cut a stream that is open for five minutes.
    server.requestTimeout = 0;
    server.listen(Number(values.port), '127.0.0.1', () => {
        console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/mcp` }));
    });
    process.stdin.resume().on('end', () => process.exit(0));
}
