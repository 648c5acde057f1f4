import type { LaneChanges } from '../../src/core/ports/store/lanes.js';
import { type AccountNumbers, createAccountNumbers } from '../../src/engine/lane/account-numbers.js';

/** The numbers of an account that has signed every nonce below `signed`, and whose chain shows `onChain`. They cannot be taken: there is no store. */
export function numbersOf(signed: bigint, onChain = signed): AccountNumbers {
  const numbers = createAccountNumbers({ chain: 'any', account: 'any' }, {} as LaneChanges);
  numbers.filledUpTo(signed);
  numbers.chainShows(onChain, { next: onChain }, onChain);
  return numbers;
}
