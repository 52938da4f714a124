/**
 * Runs @modelcontextprotocol/server-everything as published, over `--transport streamableHttp` or `sse`.
 * The package listens on all addresses at a fixed port and chats on standard output; here it is made to behave as the others.
 */

import { Server } from 'node:net';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
    options: { port: { type: 'string', default: '0' }, transport: { type: 'string', default: 'streamableHttp' } }
});
const paths = { streamableHttp: '/mcp', sse: '/sse' };

const listen = Server.prototype.listen;
Server.prototype.listen = function (_port, callback) {
    return listen.call(this, Number(values.port), '127.0.0.1', () => {
        callback?.();
        const url = `http://127.0.0.1:${this.address().port}${paths[values.transport]}`;
        process.stdout.write(`${JSON.stringify({ url })}\n`);
    });
};
console.log = console.error;
process.stdin.resume().on('end', () => process.exit(0));

await import(`@modelcontextprotocol/server-everything/dist/transports/${values.transport}.js`);
