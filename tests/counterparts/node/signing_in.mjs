/** Who signs in for the Node clients: what an SDK's OAuth client asks of its application, the same for both generations. */

/** Nobody listens there: the browser stops where it is sent back to the application. */
const REDIRECT_URL = 'http://127.0.0.1/callback';

/** Keeps what the SDK gives it, and opens pages that need nobody to type. */
class Provider {
    redirectUrl = REDIRECT_URL;
    clientMetadata = { redirect_uris: [REDIRECT_URL], client_name: 'counterpart', token_endpoint_auth_method: 'none' };
    #kept = {};

    clientInformation = () => this.#kept.client;
    saveClientInformation = client => void (this.#kept.client = client);
    tokens = () => this.#kept.tokens;
    saveTokens = tokens => void (this.#kept.tokens = tokens);
    codeVerifier = () => this.#kept.verifier;
    saveCodeVerifier = verifier => void (this.#kept.verifier = verifier);

    async redirectToAuthorization(url) {
        const answer = await fetch(url, { redirect: 'manual' });
        this.#kept.said = new URL(answer.headers.get('location')).searchParams;
    }

    /** What the authorization server has sent the browser back with. */
    get said() {
        return this.#kept.said;
    }
}

/**
 * The SDK's transport options for a client that signs in, if this one does, and a way to ask for something with it: when the
 * SDK has sent the user away, the transport takes what the user came back with, and the question is asked once more.
 */
export function signingIn() {
    if (!process.argv.includes('--sign-in')) return { options: {}, signedIn: (_, ask) => ask() };
    const authProvider = new Provider();
    const signedIn = async (transport, ask) => {
        try {
            return await ask();
        } catch (error) {
            if (error?.constructor?.name !== 'UnauthorizedError') throw error;
            await transport().finishAuth(authProvider.said.get('code'), authProvider.said.get('iss'));
            return ask();
        }
    };
    return { options: { authProvider }, signedIn };
}
