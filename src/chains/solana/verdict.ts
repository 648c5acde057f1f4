import type { Refusal } from '../../core/ports/chain/drafts.js';

/** Whether a part that nodes deny, such as a lookup table, has had time to appear. */
export interface Waiting {
  readonly isDeniedLong: () => boolean;
}

/** A part that nodes do not know may have been created or extended a moment ago, and nodes may lag. */
export const deniedForMs = 20_000;

/** Refuses for as long as the node may only be behind. */
export function patientRefusal(sentence: string, { isDeniedLong }: Waiting): Refusal {
  if (isDeniedLong()) return { refused: 'reverts', sentence, lasting: true };
  return {
    refused: 'reverts',
    sentence: `${sentence}; will fail if this does not change within ${deniedForMs / 1_000} seconds`,
    lasting: false,
  };
}
