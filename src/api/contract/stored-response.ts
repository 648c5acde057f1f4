import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type Message,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import type { Idempotency } from '../../core/access/idempotency.js';
import { DomainError } from '../../core/errors/errors.js';
import type { SecretBox } from '../../core/ports/secret-box.js';
import type { Change } from '../../core/ports/store/change.js';
import { type Call, callOf } from './call.js';
import { effectBytes } from './effect-bytes.js';
import type { MethodPlan } from './method-plan.js';
import { addWarnings } from './warnings.js';

/**
 * Sets the stored response of a call with an idempotency key, then calls `serve`. Rejects with `invalid` IDEMPOTENCY_KEY_INVALID, and as
 * `Idempotency.begin` does.
 */
export type ServeOnce = <R>(plan: MethodPlan, message: Message, call: Call, serve: () => Promise<R>) => Promise<R>;

const keyPattern = /^[\x21-\x7e]{1,255}$/;

/** The dependencies of the gate's side of idempotency. */
export interface ServeOnceDeps {
  readonly idempotency: Idempotency;
  /** A keyed digest, because a request may hold a secret. */
  readonly fingerprint: (bytes: Uint8Array) => string;
  /** Seals the responses that hold a secret. */
  readonly secretBox: SecretBox;
}

/** Creates the gate's side of idempotency. */
export function createServeOnce({ idempotency: { begin }, fingerprint, secretBox }: ServeOnceDeps): ServeOnce {
  return async (plan, message, call, serve) => {
    if (call.principal === null) throw new DomainError('internal', 'INTERNAL', 'an idempotent method must require a key');
    const { input, output } = plan.method;
    const key = { keyId: call.principal.keyId, method: plan.rpcPath, idempotencyKey: idempotencyKeyOf(call) };
    const idempotent = await begin(key, call.bodyProblem === null ? fingerprint(effectBytes(input, message)) : null);
    const form = plan.answersSecret ? sealedForm(secretBox, JSON.stringify(key)) : plainForm;

    function save(response: Message): readonly Change[] {
      addWarnings(response, output, call.warnings);
      return [idempotent.save(form.close(toBinary(output, response)))];
    }

    function use(stored: Uint8Array | null): void {
      const replay = stored === null ? null : fromBinary(output, form.open(stored));
      // The replayed response holds the warnings of the call that stored it.
      if (replay !== null) call.warnings.length = 0;
      call.storedResponse = { replay, save };
    }

    use(idempotent.replay);
    try {
      return await serve().catch(async (error: unknown) => {
        // A failed read says nothing; the caller gets the first error.
        const stored = idempotent.replay === null ? await idempotent.replayAfterFailure().catch(requireOther(error)) : null;
        if (stored === null) throw error;
        use(stored);
        return serve();
      });
    } finally {
      idempotent.end();
    }
  };
}

/** Returns a handler that throws the domain error which says that the key belongs to another payload, and the first error otherwise. */
function requireOther(first: unknown): (error: unknown) => never {
  return (error) => {
    throw error instanceof DomainError ? error : first;
  };
}

/** How the bytes of a response are stored. */
interface StoredForm {
  open(stored: Uint8Array): Uint8Array;
  close(response: Uint8Array): Uint8Array;
}

const plainForm: StoredForm = { open: (stored) => stored, close: (response) => response };

function sealedForm(secretBox: SecretBox, purpose: string): StoredForm {
  return {
    open: (stored) => Buffer.from(secretBox.open(Buffer.from(stored).toString(), purpose), 'base64'),
    close: (response) => Buffer.from(secretBox.seal(Buffer.from(response).toString('base64'), purpose)),
  };
}

/**
 * Moves the key in an RPC's request to the call, so that equal requests are equal whether their key is a field or a header. Throws
 * `IDEMPOTENCY_KEY_INVALID` if the caller sent both and they differ.
 */
export function takeIdempotencyKey(message: Message, call: Call): void {
  const request = message as Message & { idempotencyKey?: string | undefined };
  const { idempotencyKey } = request;
  if (idempotencyKey === undefined) return;
  request.idempotencyKey = undefined;
  if (call.idempotencyKeys.some((sent) => sent !== idempotencyKey))
    throw keyInvalid('idempotency_key must equal the metadata idempotency-key if both are sent');
  call.idempotencyKeys = [idempotencyKey];
}

function idempotencyKeyOf({ idempotencyKeys: [key, ...others] }: Call): string {
  if (key !== undefined && others.length === 0 && keyPattern.test(key)) return key;
  throw keyInvalid(
    others.length > 0 ? 'Idempotency-Key must be sent only once' : 'Idempotency-Key must be 1 to 255 visible ASCII characters',
  );
}

function keyInvalid(sentence: string): DomainError {
  return new DomainError('invalid', 'IDEMPOTENCY_KEY_INVALID', sentence);
}

/**
 * Returns the changes that store the response, to commit together with the call's effect; calls `response` only if the call has an
 * idempotency key.
 */
type SaveMessage<M> = (response: () => M) => readonly Change[];

/**
 * Wraps the implementation of a method that accepts idempotency keys: returns the response to replay, or runs. This cannot be an
 * interceptor: Connect would lose the headers of the answer.
 */
export function replayable<I extends DescMessage, O extends DescMessage>(
  { output }: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, context: HandlerContext, saveResponse: SaveMessage<MessageInitShape<O>>) => Promise<MessageInitShape<O>>,
): (request: MessageShape<I>, context: HandlerContext) => Promise<MessageInitShape<O>> {
  return async (request, context) => {
    const { storedResponse } = callOf(context);
    if (storedResponse.replay !== null) {
      context.responseHeader.set('idempotency-replayed', 'true');
      return storedResponse.replay as MessageShape<O>;
    }
    const { save } = storedResponse;
    return run(request, context, (response) => (save === null ? [] : save(create(output, response()))));
  };
}
