import type { Interceptor } from '@connectrpc/connect';
import { callKey, noStoredResponse } from './call.js';

/** Creates the interceptor that completes responses, as their services ask for. It is outside of the audit and of idempotency keys. */
export function createCompletion(): Interceptor {
  return (next) => async (request) => {
    const response = await next(request);
    const call = request.contextValues.get(callKey);
    if (call == null || call.complete === null || response.stream) return response;
    call.storedResponse = noStoredResponse;
    await call.complete(response.message);
    return response;
  };
}
