import { genesisAnchor, questions } from '../../../src/chains/evm/questions.js';
import { createQuestionnaire, type Lies } from './subjects.js';

/**
 * The name of a question of the table. Only WebSockets get the one for announcements of heads, and nothing waits for its answer; only quotes
 * ask the simulation, and nothing is decided by them.
 */
type QuestionName = Exclude<keyof typeof questions, 'newHeads' | 'simulation'>;

const account = `0x${'12'.repeat(20)}`;
const [hash, otherHash] = [`0x${'ab'.repeat(32)}`, `0x${'cd'.repeat(32)}`];
const call = { from: account, to: account, valueWei: 1n, data: '0x12' };
const other = { from: `0x${'34'.repeat(20)}`, to: null, valueWei: 2n, data: null };
const ofBlock = ['number', 'timestamp', 'baseFeePerGas', 'gasLimit'];

/** One entry for each question, so that none can be without lies. */
const lies: { readonly [N in QuestionName]: Lies<Parameters<(typeof questions)[N]>> } = {
  chainId: { samples: [[], []], amounts: [''] },
  // A legacy price is paid as a whole.
  head: { samples: [[], []], amounts: ofBlock, alsoIn: { legacy: ['baseFeePerGas'], 'costly legacy': ['baseFeePerGas'] } },
  anchor: { samples: [[genesisAnchor], [genesisAnchor]], amounts: ['number'] },
  block: { samples: [[1n], [2n]], amounts: ofBlock },
  blockHash: { samples: [[1n], [2n]], amounts: [] },
  blockOfHash: { samples: [[hash], [otherHash]], amounts: ['number'], world: 'skipping' },
  usesInBlock: {
    samples: [
      [1n, 1n, account],
      [1n, 2n, account],
    ],
    amounts: ['number', 'nonce'],
  },
  pricesInBlock: {
    samples: [[1n], [2n]],
    amounts: ['gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'baseFeePerGas'],
    world: 'dear',
    isDispensable: true,
  },
  hashesInBlock: { samples: [[1n], [2n]], amounts: [] },
  newestNonce: { samples: [[account], [other.from]], amounts: [''], world: 'pruned' },
  nonceAt: {
    samples: [
      [account, 1n],
      [other.from, 2n],
    ],
    amounts: [''],
  },
  balance: { samples: [[account], [other.from]], amounts: [''], isDispensable: true },
  code: { samples: [[account], [other.from]], amounts: [], world: 'automatic', isDispensable: true },
  feeHistory: {
    samples: [
      [4n, [1]],
      [5n, [2]],
    ],
    amounts: ['oldestBlock', 'baseFeePerGas', 'gasUsedRatio', 'reward'],
    isDispensable: true,
  },
  gasPrice: { samples: [[], []], amounts: [''], world: 'legacy', alsoIn: { 'costly legacy': [''] }, isDispensable: true },
  priorityFee: { samples: [[], []], amounts: [''], world: 'quiet', isDispensable: true },
  gasEstimate: {
    samples: [
      [call, '0x1'],
      [other, '0x2'],
    ],
    amounts: [''],
    isDispensable: true,
  },
  dryRun: {
    samples: [
      [call, 1n, '0x1'],
      [other, 2n, '0x2'],
    ],
    amounts: [],
    isDispensable: true,
  },
  revert: {
    samples: [
      [{ from: account, value: '0x1', gas: '0x1' }, 1n],
      [{ from: other.from, value: '0x2', gas: '0x2' }, 2n],
    ],
    amounts: [],
    world: 'reverting',
  },
  publishingFee: {
    samples: [[{ to: account, data: '0x12' }], [{ to: other.from, data: '0x34' }]],
    amounts: [''],
    world: 'optimism',
    isDispensable: true,
  },
  receipt: {
    samples: [[hash], [otherHash]],
    amounts: ['status', 'gasUsed', 'effectiveGasPrice', 'blockNumber'],
    isDispensable: 'on the chain',
  },
  blockReceipts: { samples: [[1n], [2n]], amounts: ['status', 'gasUsed', 'blockNumber'], world: 'busy' },
  transaction: { samples: [[hash], [otherHash]], amounts: ['nonce', 'blockNumber'] },
  broadcast: { samples: [['0x02'], ['0x03']], amounts: [] },
};

/** What can be a lie of EVM nodes. */
export const evmLies = createQuestionnaire('evm', questions, lies);
