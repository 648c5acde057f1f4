import type { buildConnector } from 'undici';
import type { Curve } from '../../core/records/network.js';
import { within } from '../../core/work/abort.js';

/** A public key, by its curve. */
export interface PublicKey {
  readonly curve: Curve;
  /** secp256k1: 65 bytes, uncompressed. ed25519: 32 bytes. */
  readonly bytes: Uint8Array;
}

/** How the service calls a provider. */
export interface ProviderLimits {
  /** The maximum number of calls at once. */
  readonly parallel: number;
  /** The maximum number of calls per second. If the provider throttles, fewer are made until it no longer does. */
  readonly perSecond: number;
  /** Opens the connections of adapters that make HTTP requests themselves; absent: undici does. */
  readonly connect?: buildConnector.connector | undefined;
}

/**
 * A key in an HSM, a cloud or a vault. An adapter only makes the provider's calls: `createHostedSigner` does the rest for all of them, such
 * as deadlines, retries, limits and the verification of each signature.
 *
 * The methods throw `ProviderError`; any other error counts as `unreachable`. They should stop when the signal aborts.
 */
export interface KeyProvider {
  /** Its name in sentences: `AWS KMS`. */
  readonly name: string;
  /** Signers with the same account share its limits. */
  readonly account: string;
  readonly limits: ProviderLimits;
  /** How it encodes secp256k1 signatures: `der`, or `fixed`: r and s, 32 bytes each. */
  readonly form: 'der' | 'fixed';
  /** Reads the public key from the provider. */
  publicKey(signal: AbortSignal): Promise<PublicKey>;
  /** Signs a digest of 32 bytes with a secp256k1 key, or a message, not a digest of it, with an ed25519 key. */
  sign(bytes: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Why a provider gave no signature. `throttled`: too many calls. `unreachable`: no answer, or an answer that says that the provider does
 * not work. `refused`: it rejects the credentials or the key.
 */
export type ProviderProblem = 'throttled' | 'unreachable' | 'refused';

/** A call that the provider did not do. The message is for the log, without a secret; see `sentenceForCaller`. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly problem: ProviderProblem;
  /** When the provider says that it can be called again; null: it does not say. */
  readonly retryAfterMs: number | null;

  constructor(
    problem: ProviderProblem,
    message: string,
    options: { readonly retryAfterMs?: number | null; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.problem = problem;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** Asks a provider under a time limit. Throws `ProviderError` if it passes. */
export function askWithin<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return within(ms, ask, { reason: () => new ProviderError('unreachable', `no answer within ${ms / 1_000} s`) });
}
