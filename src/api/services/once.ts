import { create, type DescMessage, type DescMethodUnary, type MessageInitShape, type MessageShape, toBinary } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import type { Change } from '../../core/ports/store.js';
import { callOf } from '../contract/call.js';
import { addWarnings } from '../contract/warnings.js';

/**
 * What is to be committed together with the effect of a call, so that the same call again is answered the same: nothing where it has no
 * idempotency key. To be made once all is remarked on that there is to warning on; later warnings are not kept.
 */
type Keep<O extends DescMessage> = (response: MessageInitShape<O>) => readonly Change[];

/**
 * Makes a method that honours idempotency keys: it answers what is kept of an earlier call where the gate has found that, or runs. An
 * interceptor cannot answer instead of it: Connect would lose the headers of the answer.
 */
export function once<I extends DescMessage, O extends DescMessage>(
  { output }: DescMethodUnary<I, O>,
  run: (request: MessageShape<I>, context: HandlerContext, keep: Keep<O>) => Promise<MessageInitShape<O>>,
): (request: MessageShape<I>, context: HandlerContext) => Promise<MessageInitShape<O>> {
  return async (request, context) => {
    const { kept, claim, warnings } = callOf(context);
    if (kept !== null) return kept as MessageShape<O>;
    return run(request, context, (response) => {
      if (claim === null) return [];
      const message = create(output, response);
      addWarnings(message, output, warnings);
      return [claim.keep(toBinary(output, message))];
    });
  };
}
