import type { CallMark } from '../../core/work/breaker.js';
import type { Log } from '../../core/work/log.js';
import { nodeText } from './answer.js';
import type { CircuitBreaker, Difference } from './circuit-breaker.js';
import type { HttpClient } from './http-client.js';
import { type Responder, type RpcCall, settledFromSingle, singleBody } from './json-rpc.js';
import { TransportError } from './node-error.js';

/** Verifies that an endpoint serves the configured network. */
export interface IdentityCheck {
  /** Asks the endpoint for its identity, once until `forget`. Throws `TransportError`, which is an `OtherChainError` for another chain. */
  verified(): Promise<void>;
  /** Verifies again before the next call: another node may answer behind the same URL. */
  forget(): void;
  /** The genesis hash that the endpoint last returned, if it was not the expected one; else null. */
  foreignGenesis(): string | null;
}

/** A `TransportError` that the circuit breaker has already recorded. */
export class OtherChainError extends TransportError {
  constructor(host: string, { differs, expected, answered }: Difference) {
    super(host, `serves another chain: its ${differs} is ${answered}, not ${expected}`);
  }
}

/** The options of an identity check. */
export interface IdentityCheckOptions {
  readonly networkName: string;
  readonly responder: Responder;
  /** The genesis hash that the endpoint must have; null while it is unknown. */
  readonly genesisHash: () => string | null;
  readonly client: Pick<HttpClient, 'post'>;
  readonly breaker: Pick<CircuitBreaker, 'begin' | 'failed'>;
  readonly log: Log;
}

/** Creates the check of one endpoint. */
export function createIdentityCheck({ networkName, responder, genesisHash, client, breaker, log }: IdentityCheckOptions): IdentityCheck {
  const { dialect } = responder;
  const { host } = responder.target;
  let verification: Promise<void> | null = null;
  let foreignGenesis: string | null = null;
  let isUnshownLogged = false;

  function verified(): Promise<void> {
    if (verification !== null) return verification;
    const current = verify();
    verification = current;
    current.catch(() => {
      if (verification === current) verification = null;
    });
    return current;
  }

  /** Asks for both at once: each answer may take seconds. */
  async function verify(): Promise<void> {
    const { identity, genesis } = dialect;
    const mark = breaker.begin();
    const expected = genesisHash();
    const asked = genesis === null || expected === null ? null : askUnverified(genesis(expected), 'genesis block');
    // Where the node says its chain, the genesis block is a bonus: some nodes have pruned it.
    const shown = identity === null ? asked : asked?.catch(noneIfUnanswered);
    const [answered, hash] = await Promise.all([identity === null ? null : askUnverified(identity.call, identity.name), shown]);
    if (identity !== null && answered !== null) requireSame(identity.name, identity.expected, identity.shown(answered), mark);
    if (expected === null || hash === undefined) return;
    if (hash === null) {
      noteUnshown();
      return;
    }
    foreignGenesis = hash === expected ? null : hash;
    requireSame('genesis block', expected, hash, mark);
  }

  function requireSame(differs: string, expected: string, shown: string, mark: CallMark): void {
    if (shown === expected) return;
    const difference = { differs, expected, answered: nodeText(shown) };
    breaker.failed({ kind: 'other_chain', difference }, mark);
    throw new OtherChainError(host, difference);
  }

  function noteUnshown(): void {
    if (!isUnshownLogged)
      log.info({ network: networkName, host }, 'RPC endpoint does not show the genesis block; its chain ID is verified');
    isUnshownLogged = true;
  }

  async function askUnverified<T>(call: RpcCall<T>, what: string): Promise<T> {
    const settled = settledFromSingle(await client.post(singleBody(call, responder.takeIds(1)), 1), call, responder);
    if ('error' in settled) throw new TransportError(host, `did not return its ${what}: ${settled.error.message}`);
    return settled.result;
  }

  return {
    verified,
    forget() {
      verification = null;
    },
    foreignGenesis: () => foreignGenesis,
  };
}

function noneIfUnanswered(error: unknown): null {
  if (error instanceof TransportError) return null;
  throw error;
}
