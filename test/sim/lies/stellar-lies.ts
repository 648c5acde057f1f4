import { questions } from '../../../src/chains/stellar/questions.js';
import { createQuestionnaire, type Lies } from './subjects.js';

/** The name of a question of the table. Only quotes ask for trust lines. */
type QuestionName = Exclude<keyof typeof questions, 'trustLines'>;

const account = 'GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7';
const [hash, otherHash] = ['ab'.repeat(32), 'cd'.repeat(32)];
const networkId = Buffer.alloc(32);

/** One entry for each question, so that none can be without lies. */
const lies: { readonly [N in QuestionName]: Lies<Parameters<(typeof questions)[N]>> } = {
  passphrase: { samples: [[], []], amounts: [] },
  latestLedger: { samples: [[], []], amounts: ['sequence', 'closeTime'] },
  oldestLedger: { samples: [[], []], amounts: ['oldestLedger'] },
  accounts: {
    samples: [
      [[account], null],
      [[account, account], 2n],
    ],
    amounts: ['latestLedger', 'lastModifiedLedgerSeq'],
  },
  memoRequired: { samples: [[[account]], [[account, account]]], amounts: [] },
  recentBids: { samples: [[], []], amounts: ['p90'] },
  simulation: { samples: [['AA=='], ['AB==']], amounts: ['minResourceFee', 'latestLedger'], world: 'contract' },
  transaction: {
    samples: [
      [hash, networkId, null],
      [otherHash, networkId, 2n],
    ],
    amounts: ['ledger', 'latestLedger', 'oldestLedger'],
  },
  history: {
    samples: [
      [1n, null],
      [2n, 'cursor'],
    ],
    amounts: ['ledger', 'latestLedger'],
  },
  broadcast: { samples: [['AA=='], ['AB==']], amounts: [] },
};

/** What can be a lie of Stellar nodes. */
export const stellarLies = createQuestionnaire('stellar', questions, lies);
