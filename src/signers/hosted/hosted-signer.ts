import { setMaxListeners } from 'node:events';
import { DomainError } from '../../core/errors/errors.js';
import type { Signer } from '../../core/ports/signer.js';
import { createPause, startDeadline, TimeoutError, within } from '../../core/work/abort.js';
import type { Log } from '../../core/work/log.js';
import { addressOfPublicKey } from '../../crypto/evm-address.js';
import { type KeyProvider, ProviderError, type PublicKey } from './key-provider.js';
import type { GateTime, ProviderGate } from './provider-gate.js';
import { ed25519Verifier, evmSignatureFrom } from './signature.js';
import { createSignerBreaker } from './signer-breaker.js';

/** How long a signature may take, with all waiting and all retries. */
const deadlineMs = 10_000;
/** How long one call of the provider may take. */
const callMs = 5_000;
/** The pause before a failed call is repeated; it doubles. */
const retryAfterMs = 50;
/** When a caller should try again that waited for the deadline. */
const retryLateAfterMs = 1_000;

/** A signer whose key is outside of this process. */
export interface HostedSigner {
  readonly signer: Signer;
  /** Ends all signatures under way with `SIGNER_UNAVAILABLE`, and closes the provider. */
  close(): Promise<void>;
}

/** The parts that make a hosted signer. */
export interface HostedSignerParts {
  readonly id: string;
  readonly provider: KeyProvider;
  /** The key that every signature is verified against. */
  readonly publicKey: PublicKey;
  readonly gate: ProviderGate;
  readonly time: GateTime;
  readonly log: Log;
}

/** A failure of one call. */
interface Failure {
  /** For callers. */
  readonly sentence: string;
  /** For the log. */
  readonly detail: string;
  readonly problem: 'throttled' | 'failed' | 'certain';
  readonly retryAfterMs: number | null;
}

/** The next step of the provider's callers: a throttled call waits at the gate, and a tripped breaker says when to retry. */
interface NotedFailure {
  readonly sentence: string;
  readonly isRetriedSoon: boolean;
}

/**
 * Makes a signer of a provider's key, with the parts that all kinds of keys share: the provider's limits, retries with backoff, a circuit
 * breaker, a deadline, and the form of the signature. Each signature is verified before it is returned, so a provider that returns a wrong
 * one costs an error, not money.
 *
 * The signer throws DomainError `SIGNER_UNAVAILABLE`, at the latest after 10 s.
 */
export function createHostedSigner({ id, provider, publicKey, gate, time, log }: HostedSignerParts): HostedSigner {
  const { clock, timers } = time;
  const pause = createPause(timers);
  const closing = new AbortController();
  // One listener for each signature under way.
  setMaxListeners(0, closing.signal);
  const breaker = createSignerBreaker(clock, (reason) => {
    if (reason === null) log.info({ signer: id }, 'the signer works again');
    else log.warn({ signer: id, reason, detail: lastDetail }, 'the signer cannot sign; transactions that need its signature wait');
  });
  let lastDetail = '';

  function unavailable(sentence: string, retryInMs: number): DomainError {
    return new DomainError('unavailable', 'SIGNER_UNAVAILABLE', `signer ${id} cannot sign now: ${sentence}`, {
      metadata: { signer_id: id },
      retryAfterMs: Math.max(retryAfterMs, retryInMs),
    });
  }

  /** Returns a signature that passes the check. */
  async function sign<T>(bytes: Uint8Array, check: (answer: Uint8Array) => T | null): Promise<T> {
    let last: NotedFailure | null = null;
    const deadline = startDeadline(deadlineMs, { outer: closing.signal, timers });
    try {
      for (let tries = 0; ; tries += 1) {
        const trip = await breaker.mayCall(deadline.signal);
        if (trip !== null) throw unavailable(trip.sentence, trip.retryInMs);
        const outcome = await gate.run(() => call(bytes, check, deadline.signal), deadline.signal);
        if (outcome === 'again') continue;
        if ('signature' in outcome) return outcome.signature;
        last = outcome.failure;
        if (last.isRetriedSoon) await pause(retryAfterMs * 2 ** tries, deadline.signal);
        deadline.signal.throwIfAborted();
      }
    } catch (error) {
      if (closing.signal.aborted) throw unavailable('the service is stopping', retryLateAfterMs);
      if (!deadline.signal.aborted) throw error;
      throw unavailable(last?.sentence ?? `${provider.name} is asked for more signatures than its limits allow`, retryLateAfterMs);
    } finally {
      deadline.clear();
    }
  }

  /** Calls the provider once, unless the breaker tripped while the call waited. Rejects only if the signal aborts. */
  async function call<T>(
    bytes: Uint8Array,
    check: (answer: Uint8Array) => T | null,
    signal: AbortSignal,
  ): Promise<{ readonly signature: T } | { readonly failure: NotedFailure } | 'again'> {
    const mark = breaker.begin();
    if (mark === null) return 'again';
    try {
      const answer = await within(callMs, (limit) => provider.sign(bytes, limit), { outer: signal, timers });
      const signature = check(answer);
      if (signature !== null) {
        gate.worked();
        breaker.worked(mark);
        return { signature };
      }
      return note(mark, {
        sentence: `${provider.name} returned a signature that is not valid for the key of this signer`,
        detail: `${answer.length} bytes that are not a signature of the key ${Buffer.from(publicKey.bytes).toString('hex')}`,
        problem: 'certain',
        retryAfterMs: null,
      });
    } catch (error) {
      if (signal.aborted) throw error;
      return note(mark, error instanceof TimeoutError ? lateFailure(provider.name) : failureFrom(provider.name, error));
    } finally {
      breaker.ended(mark);
    }
  }

  function note(mark: number, { sentence, detail, problem, retryAfterMs: retryInMs }: Failure): { readonly failure: NotedFailure } {
    lastDetail = detail;
    // A provider that throttles works.
    if (problem === 'throttled') gate.throttled(retryInMs);
    const isTripped = problem !== 'throttled' && breaker.failed(mark, sentence, problem === 'certain');
    return { failure: { sentence, isRetriedSoon: problem === 'failed' && !isTripped } };
  }

  return {
    signer: signerOf(id, publicKey, provider.form, sign),
    async close() {
      closing.abort();
      await provider.close();
    },
  };
}

function signerOf(
  id: string,
  { curve, bytes }: PublicKey,
  form: KeyProvider['form'],
  sign: <T>(message: Uint8Array, check: (answer: Uint8Array) => T | null) => Promise<T>,
): Signer {
  if (curve === 'ed25519') {
    const verified = ed25519Verifier(bytes);
    return {
      id,
      curve,
      isHosted: true,
      publicKey: Uint8Array.from(bytes),
      sign: (message) => sign(message, (answer) => verified(answer, message)),
    };
  }
  const address = addressOfPublicKey(bytes);
  return {
    id,
    curve,
    isHosted: true,
    address,
    signDigest: (digest) => sign(digest, (answer) => evmSignatureFrom(answer, form, digest, bytes)),
  };
}

function failureFrom(name: string, error: unknown): Failure {
  const detail = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ProviderError)) return { sentence: `${name} is not reachable`, detail, problem: 'failed', retryAfterMs: null };
  const { problem, retryAfterMs: retryInMs } = error;
  if (problem === 'throttled') return { sentence: `${name} throttles calls`, detail, problem, retryAfterMs: retryInMs };
  if (problem === 'refused') return { sentence: `${name} refuses to sign with this key`, detail, problem: 'certain', retryAfterMs: null };
  return { sentence: `${name} is not reachable`, detail, problem: 'failed', retryAfterMs: null };
}

function lateFailure(name: string): Failure {
  const sentence = `${name} did not answer within ${callMs / 1_000} s`;
  return { sentence, detail: sentence, problem: 'failed', retryAfterMs: null };
}
