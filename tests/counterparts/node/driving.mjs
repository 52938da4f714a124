/**
 * The Node clients' side of the line protocol that ../README.md describes: one JSON object a line, in and out.
 * A client program gives `drive` a `connect(url, token, event)`; what it resolves to is asked for everything else.
 */

import { createInterface } from 'node:readline';

const say = message => console.log(JSON.stringify(message));

/** The headers that present a token, if there is one. */
export const authorization = token => (token ? { Authorization: `Bearer ${token}` } : {});

function described(error) {
    if (error?.name === 'AbortError' || error?.cancelled) return { cancelled: true };
    if (typeof error?.code === 'number') return { code: error.code, message: error.message, data: error.data ?? null };
    return { exception: error?.constructor?.name, message: String(error?.message ?? error) };
}

export function drive(connect) {
    const calls = new Map();
    let connection;

    const operations = {
        async connect(id, { url, token }) {
            connection = await connect(url, token, (name, params) => say({ id, event: name, params }));
            return connection.info;
        },
        async list() {
            const tools = [];
            let pages = 0;
            let cursor;
            do {
                const page = await connection.listPage(cursor);
                tools.push(...page.tools);
                pages += 1;
                cursor = page.nextCursor;
            } while (cursor !== undefined);
            return { tools, pages };
        },
        async call(id, { name, arguments: args }) {
            const controller = new AbortController();
            calls.set(id, controller);
            const onprogress = ({ progress, total, message }) =>
                say({ id, event: 'progress', params: { progress, total: total ?? null, message: message ?? null } });
            try {
                return await connection.call(name, args, { signal: controller.signal, onprogress });
            } catch (error) {
                if (controller.signal.aborted) error = { cancelled: true };
                throw error;
            } finally {
                calls.delete(id);
            }
        },
        async cancel(_, { request }) {
            calls.get(request)?.abort();
            return {};
        },
        async listen(id) {
            return connection.listen(() => say({ id, event: 'list_changed', params: {} }));
        },
        async close() {
            for (const controller of calls.values()) controller.abort();
            await connection?.close();
            connection = undefined;
            return {};
        }
    };

    const lines = createInterface({ input: process.stdin });
    lines.on('line', async line => {
        const { id, op, ...rest } = JSON.parse(line);
        try {
            say({ id, result: await operations[op](id, rest) });
        } catch (error) {
            say({ id, error: described(error) });
        }
    });
    lines.on('close', () => process.exit(0));
}
