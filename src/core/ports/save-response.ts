import type { Change } from './store.js';

/**
 * Returns the changes that store the response to a call, to commit together with the call's effect; empty if the call has no idempotency
 * key. `result` is what the use case is about to return.
 */
export type SaveResponse<T> = (result: T) => readonly Change[];
