import { questions } from '../../../src/chains/solana/questions.js';
import { createQuestionnaire, type Lies } from './subjects.js';

/** The name of a question of the table. No caller names a lookup table, and every simulation reports its fee. */
type QuestionName = Exclude<keyof typeof questions, 'lookupTables' | 'fee'>;

const [key, otherKey] = ['11111111111111111111111111111111', 'SysvarC1ock11111111111111111111111111111111'];
const none = () => 0n;

/** One entry for each question, so that none can be without lies. */
const lies: { readonly [N in QuestionName]: Lies<Parameters<(typeof questions)[N]>> } = {
  genesis: { samples: [[], []], amounts: [] },
  slot: { samples: [[], []], amounts: [''] },
  position: {
    samples: [
      ['confirmed', () => true],
      ['finalized', () => true],
    ],
    amounts: ['absoluteSlot', 'blockHeight'],
  },
  latestBlockhash: {
    samples: [
      [1n, 1n, none],
      [2n, 2n, none],
    ],
    amounts: ['slot', 'lastValidBlockHeight'],
  },
  blockhashValidity: {
    samples: [
      [key, 'processed', null],
      [otherKey, 'finalized', null],
    ],
    amounts: ['slot'],
    needsTwo: true,
  },
  finalizedBlocks: {
    samples: [
      [1n, 1n],
      [2n, 2n],
    ],
    amounts: [''],
  },
  blockSignatures: { samples: [[1n], [2n]], amounts: ['blockHeight', 'parentSlot'] },
  blockTime: { samples: [[1n], [2n]], amounts: [''] },
  statuses: {
    samples: [
      [[key], true, null],
      [[otherKey], false, 1n],
    ],
    amounts: ['slot'],
    needsTwo: true,
  },
  transaction: { samples: [[key], [otherKey]], amounts: ['slot', 'fee'] },
  account: { samples: [[key], [otherKey]], amounts: ['lamports'] },
  balance: {
    samples: [
      [key, 'processed'],
      [otherKey, 'confirmed'],
    ],
    amounts: ['value'],
  },
  recentPrices: { samples: [[[key]], [[otherKey]]], amounts: ['prioritizationFee'] },
  simulation: {
    samples: [
      ['AA==', 1n, key],
      ['AB==', 2n, otherKey],
    ],
    amounts: ['unitsConsumed', 'fee'],
  },
  broadcast: { samples: [['AA=='], ['AB==']], amounts: [] },
};

/** What can be a lie of Solana nodes. */
export const solanaLies = createQuestionnaire('solana', questions, lies);
