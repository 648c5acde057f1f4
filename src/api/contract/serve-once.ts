import { type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import type { Idempotency } from '../../core/access/idempotency.js';
import { DomainError } from '../../core/errors.js';
import type { SecretBox } from '../../core/ports/secret-box.js';
import type { Call } from './call.js';
import type { MethodPlan } from './method-plan.js';

/**
 * Serves a call that carries an idempotency key: gives it what is kept of an earlier one, or the claim to keep its own outcome by, and calls
 * `serve`. Rejects with `invalid` IDEMPOTENCY_KEY_INVALID, and as `Idempotency.begin`.
 */
export type ServeOnce = <R>(plan: MethodPlan, message: Message, call: Call, serve: () => Promise<R>) => Promise<R>;

const keyPattern = /^[\x21-\x7e]{1,255}$/;

/** Makes it. */
export function createServeOnce({ begin }: Idempotency, secretBox: Pick<SecretBox, 'digest'>): ServeOnce {
  /** The same for requests that say the same, in whatever protocol; what this version does not know of is not in it. A request may hold a secret. */
  function fingerprintOf(input: DescMessage, message: Message): string {
    return secretBox.digest(toBinary(input, message, { writeUnknownFields: false }), 'idempotent request');
  }

  return async (plan, message, call, serve) => {
    if (call.principal === null) throw new DomainError('internal', 'INTERNAL', 'the method keeps outcomes, but asks for no key');
    const { input, output } = plan.method;
    const key = { keyId: call.principal.keyId, method: plan.rpcPath, idempotencyKey: idempotencyKeyOf(call) };
    const begun = await begin(key, call.bodyProblem === null ? fingerprintOf(input, message) : null);
    if (begun.kind === 'replay') {
      // What there was to warning on is kept with it.
      call.warnings.length = 0;
      call.kept = fromBinary(output, begun.response);
      return serve();
    }
    call.claim = begun.claim;
    try {
      return await serve();
    } finally {
      begun.claim.release();
    }
  };
}

function idempotencyKeyOf({ idempotencyKeys: [key, ...others] }: Call): string {
  if (key !== undefined && others.length === 0 && keyPattern.test(key)) return key;
  const sentence =
    others.length > 0 ? 'there is more than one Idempotency-Key' : 'Idempotency-Key must be 1 to 255 visible ASCII characters';
  throw new DomainError('invalid', 'IDEMPOTENCY_KEY_INVALID', sentence);
}
