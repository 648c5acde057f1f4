import type { DurationClock } from '../../core/work/clock.js';
import { shareRun } from '../../core/work/share-run.js';
import { createHttpClient, HttpError, textAt, valueAt } from '../hosted/http-client.js';
import { askWithin, ProviderError, type ProviderLimits } from '../hosted/key-provider.js';
import type { LiveSecrets } from '../hosted/live-secrets.js';

/** Where a Vault is, and the AppRole that the service logs in with. */
export interface VaultAccess {
  readonly address: string;
  readonly namespace: string | null;
  readonly secrets: LiveSecrets<{ readonly role_id: string; readonly secret_id: string }>;
}

/** The API of one Vault, with a token that is renewed before its lease ends. */
export interface VaultClient {
  readonly limits: ProviderLimits;
  /** Calls `/v1/<path>`; with a body, by POST. Throws `ProviderError`. */
  call(path: string, body: object | null, signal: AbortSignal): Promise<unknown>;
  /** Returns the beginning of Vault's text for an error, without credentials. */
  shown(text: string): string;
  close(): Promise<void>;
}

interface Token {
  /** Secret. */
  readonly text: string;
  readonly isRenewable: boolean;
  /** On the monotonic clock. */
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

/** How long a login or a renewal may take. */
const obtainMs = 5_000;
/** A token is renewed after this part of its lease. */
const renewedAfter = 2 / 3;
/** The lease of a token that Vault gives without an end. */
const endlessMs = 24 * 3_600_000;

/** Makes the client of one Vault and AppRole. */
export function createVaultClient(
  { address, namespace, secrets }: VaultAccess,
  clock: Pick<DurationClock, 'elapsedMs'>,
  limits: ProviderLimits,
): VaultClient {
  const http = createHttpClient({ limits, secrets: () => [...secrets.all(), token?.text ?? ''] });
  const base = `${address.replace(/\/+$/, '')}/v1/`;
  const namespaceHeader: Record<string, string> = namespace === null ? {} : { 'x-vault-namespace': namespace };
  let token: Token | null = null;

  async function send(path: string, body: object | null, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<unknown> {
    const wanted = { url: base + path, headers: { 'x-vault-request': 'true', ...namespaceHeader, ...headers } };
    const answer = await http.send(
      body === null ? { ...wanted, method: 'GET' } : { ...wanted, method: 'POST', body: JSON.stringify(body) },
      signal,
    );
    return answer.json;
  }

  function tokenFrom(json: unknown): Token {
    const text = textAt(json, 'auth', 'client_token');
    const seconds = valueAt(json, 'auth', 'lease_duration');
    if (text === undefined || text === '') throw new ProviderError('unreachable', 'the answer to the login has no token');
    const leaseMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : endlessMs;
    const nowMs = clock.elapsedMs();
    const isRenewable = valueAt(json, 'auth', 'renewable') === true;
    return { text, isRenewable, renewAtMs: nowMs + leaseMs * renewedAfter, endsAtMs: nowMs + leaseMs };
  }

  async function obtain(signal: AbortSignal): Promise<Token> {
    if (token?.isRenewable && clock.elapsedMs() < token.endsAtMs) {
      try {
        return tokenFrom(await send('auth/token/renew-self', {}, { 'x-vault-token': token.text }, signal));
      } catch (error) {
        // Its lease may not be extended any further, or the token was revoked.
        if (!(error instanceof HttpError)) throw error;
      }
    }
    const { role_id, secret_id } = secrets.now();
    return tokenFrom(await send('auth/approle/login', { role_id, secret_id }, {}, signal));
  }

  /** Not bound to the signal of one caller, since all callers share it. */
  const obtainShared = shareRun(() => askWithin(obtainMs, obtain));

  async function tokenNow(): Promise<Token> {
    if (token !== null && clock.elapsedMs() < token.renewAtMs) return token;
    token = await obtainShared();
    return token;
  }

  return {
    limits,
    async call(path, body, signal) {
      const used = await tokenNow();
      try {
        return await send(path, body, { 'x-vault-token': used.text }, signal);
      } catch (error) {
        // 403 can also mean that the token was revoked before its lease ended.
        if (!(error instanceof HttpError) || error.status !== 403) throw error;
        if (token === used) token = null;
        const fresh = await tokenNow();
        return send(path, body, { 'x-vault-token': fresh.text }, signal);
      }
    },
    shown: (text) => http.shown(text),
    close: () => http.close(),
  };
}

/** Writes a path of Vault into a URL. */
export function vaultPath(...parts: readonly string[]): string {
  return parts
    .flatMap((part) => part.split('/'))
    .filter((part) => part !== '')
    .map(encodeURIComponent)
    .join('/');
}
