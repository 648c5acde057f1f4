import { isUnavailable } from '../../core/errors/unavailable.js';
import type { LaneInputs } from './lane-inputs.js';

/** Lets a question go on whose answer is used later. */
export function askAhead({ deps, relayer }: Pick<LaneInputs, 'deps' | 'relayer'>, answer: Promise<unknown>): void {
  answer.catch((error: unknown) => {
    if (!isUnavailable(error)) deps.log.error({ err: error, relayer: relayer().id }, 'a question to RPC nodes failed unexpectedly');
  });
}
