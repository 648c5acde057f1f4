import type { Origin } from '../../../core/transaction/journal.js';
import type { Call } from '../../contract/call.js';

/** Returns who makes a call. */
export function originOf({ requestId, traceParent, principal }: Call): Origin {
  return { requestId, traceParent, apiKeyId: principal?.keyId ?? null };
}
