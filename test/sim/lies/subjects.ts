import { genesisAnchor, questions } from '../../../src/chains/evm/questions.js';

/**
 * The name of a question of the table. Only WebSockets get the one for announcements of heads, and nothing waits for its answer; only quotes
 * ask the simulation, and nothing is decided by them.
 */
export type QuestionName = Exclude<keyof typeof questions, 'newHeads' | 'simulation'>;

/** How nodes can lie about a question, and the world in which the service asks it. */
interface Lies<N extends QuestionName> {
  /** Two sets of arguments: what does not differ between their parameters is how the question is recognized on the wire. */
  readonly samples: readonly [Parameters<(typeof questions)[N]>, Parameters<(typeof questions)[N]>];
  /** The amounts in the answer, by the name of their member; the empty name: the answer itself. */
  readonly amounts: readonly string[];
  readonly world?: WorldKind;
  /** A slot must be freed whatever the only endpoint answers to this; `on the chain`: at least there, since no record can show it. */
  readonly isDispensable?: true | 'on the chain';
}

/**
 * What makes the service ask a question. `quiet`: others pay no priority fee; `dear`: they pay much. `pruned`: nodes have no nonces by block
 * number. `skipping`: they have no block at some numbers. `busy`: one block holds many transactions of the account.
 */
export type WorldKind = 'usual' | 'quiet' | 'dear' | 'legacy' | 'optimism' | 'reverting' | 'automatic' | 'pruned' | 'skipping' | 'busy';

const account = `0x${'12'.repeat(20)}`;
const [hash, otherHash] = [`0x${'ab'.repeat(32)}`, `0x${'cd'.repeat(32)}`];
const call = { from: account, to: account, valueWei: 1n, data: '0x12' };
const other = { from: `0x${'34'.repeat(20)}`, to: null, valueWei: 2n, data: null };
const ofBlock = ['number', 'timestamp', 'baseFeePerGas', 'gasLimit'];

/** One entry for each question, so that none can be without lies. */
const lies: { readonly [N in QuestionName]: Lies<N> } = {
  chainId: { samples: [[], []], amounts: [''] },
  head: { samples: [[], []], amounts: ofBlock },
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
  gasPrice: { samples: [[], []], amounts: [''], world: 'legacy', isDispensable: true },
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

/** A question, or an amount in its answer, as the subject of a lie. */
export interface Subject {
  readonly name: string;
  readonly question: QuestionName;
  readonly amount: string | null;
  readonly world: WorldKind;
  readonly isDispensable: boolean | 'on the chain';
}

const names = Object.keys(lies) as readonly QuestionName[];

/** The subjects that lies of any kind have, or those about amounts. Questions that are the same on the wire, in one world, are one. */
export function subjects(about: 'answers' | 'amounts'): readonly Subject[] {
  const seen = new Set<string>();
  return names.flatMap((question): readonly Subject[] => {
    const { amounts, world = 'usual', isDispensable = false } = lies[question];
    const isAlike = seen.size === seen.add(JSON.stringify([questions[question].entry.method, patternOf(question), world])).size;
    const of = (amount: string | null): Subject => ({
      name: amount === null || amount === '' ? question : `${question}.${amount}`,
      question,
      amount,
      world,
      isDispensable,
    });
    if (about === 'amounts') return amounts.map(of);
    return isAlike ? [] : [of(null)];
  });
}

type Params = readonly unknown[];

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parameters with null for each that can be anything, and the member names that objects always have. */
function patternOf(question: QuestionName): Params {
  const [one = [], another = []] = lies[question].samples.map(
    (args) => (questions[question] as unknown as (...args: Params) => { readonly params: Params })(...args).params,
  );
  return one.map((param, index) => {
    const twin = another[index];
    if (isObject(param) && isObject(twin)) return Object.keys(param).filter((key) => key !== 'to' && key in twin);
    return JSON.stringify(param) === JSON.stringify(another[index]) ? param : null;
  });
}

const patterns = new Map(names.map((name) => [name, patternOf(name)]));

/** How closely these parameters fit a question; null: they do not. */
function fit(question: QuestionName, params: Params): number | null {
  const pattern = patterns.get(question) ?? [];
  // Some nodes take no block for an estimate.
  if (pattern.length !== params.length && question !== 'gasEstimate') return null;
  let closeness = 0;
  for (const [index, wanted] of pattern.entries()) {
    const param = params[index];
    if (wanted === null || (param === undefined && question === 'gasEstimate')) continue;
    if (Array.isArray(wanted)) {
      if (typeof param !== 'object' || param === null || !wanted.every((key) => key in param)) return null;
      closeness += wanted.length;
    } else if (wanted !== param) return null;
    else closeness += 10;
  }
  return closeness;
}

/** True if a call on the wire asks this question, and not another one of the table that fits better. */
export function asks(question: QuestionName, { method, params }: { readonly method: string; readonly params: Params }): boolean {
  if (questions[question].entry.method !== method) return false;
  const own = fit(question, params);
  return own !== null && names.every((name) => questions[name].entry.method !== method || (fit(name, params) ?? -1) <= own);
}
