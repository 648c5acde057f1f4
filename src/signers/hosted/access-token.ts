import type { DurationClock } from '../../core/work/clock.js';
import { shareRun } from '../../core/work/share-run.js';
import { HttpError } from './http-client.js';

/** A token as its issuer gives it. */
export interface IssuedToken {
  /** Secret. */
  readonly text: string;
  /** How long it is valid. */
  readonly lifeMs: number;
}

/** The access token of one identity. All calls share it, and it is replaced before it ends. */
export interface AccessToken {
  /**
   * Makes a call with the token, and again with a new one if the API answers 401: a token may be revoked before its end. Throws
   * `ProviderError`.
   */
  use<T>(call: (token: string) => Promise<T>): Promise<T>;
  /** The last tokens, which errors must not contain: an API that refuses a token may quote it. */
  secrets(): readonly string[];
}

/** A token is replaced after this part of its life. */
const renewedAfter = 5 / 6;
/** Calls that began before a token was replaced may still quote it. */
const maxRecent = 8;

/** Makes the access token that an issuer gives. `issue` throws `ProviderError`; it has no signal, since all callers share its answer. */
export function createAccessToken(issue: () => Promise<IssuedToken>, clock: Pick<DurationClock, 'elapsedMs'>): AccessToken {
  let token: { readonly text: string; readonly renewAtMs: number } | null = null;
  let recent: readonly string[] = [];

  const obtain = shareRun(async () => {
    const { text, lifeMs } = await issue();
    recent = [text, ...recent.slice(0, maxRecent - 1)];
    token = { text, renewAtMs: clock.elapsedMs() + lifeMs * renewedAfter };
    return text;
  });

  async function current(): Promise<string> {
    if (token !== null && clock.elapsedMs() < token.renewAtMs) return token.text;
    return obtain();
  }

  return {
    async use(call) {
      const first = await current();
      try {
        return await call(first);
      } catch (error) {
        if (!(error instanceof HttpError) || error.status !== 401) throw error;
        if (token?.text === first) token = null;
        return call(await current());
      }
    },
    secrets: () => recent,
  };
}
