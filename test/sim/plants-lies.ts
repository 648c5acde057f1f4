import type { Entry, question } from '../../src/chains/rpc/question.js';
import type { Rpc } from '../../src/chains/rpc/rpc.js';
import type { Plant } from './plants.js';
import { finalOnOneWord } from './plants-engine.js';
import { type Seam, seam } from './seam.js';

type AnyEntry = Entry<readonly never[], unknown>;

/** Changes the questions of the table with this fallback, or that begins so. */
function entry(fallback: string, changed: Partial<AnyEntry>): Seam {
  return seam(() => import('../../src/chains/rpc/question.js'), {
    question: (original) =>
      ((given: AnyEntry) => original(given.fallback.startsWith(fallback) ? { ...given, ...changed } : given)) as unknown as typeof question,
  });
}

/** Loaded late: what replaces the functions of a module is loaded before that module. */
const table = async () => (await import('../../src/chains/evm/questions.js')).questions;

/** No other endpoint can be asked for a second word. */
function alone(rpc: Rpc): Rpc {
  return { ...rpc, isSingle: () => true, endpoints: () => rpc.endpoints().slice(0, 1) };
}

/** A self-transfer waits for the answer to this question. */
function waitingFiller(ask: (rpc: Rpc, account: string) => Promise<unknown>): Seam {
  return seam(() => import('../../src/chains/evm/draft.js'), {
    draftAttempt: (original) => async (deps, request) => {
      if (request.content === 'filler') await ask(deps.rpc, request.relayer.address);
      return original(deps, request);
    },
  });
}

/** Changes what a chain knows about the nonces of accounts. */
const noCodeIsRead = seam(() => import('../../src/chains/evm/evm-chain.js'), {
  createEvmChain: (original) => (options) => {
    const chain = original(options);
    return { ...chain, sequence: { ...chain.sequence, cannotFail: async () => false } };
  },
});

const firstByOne = seam(() => import('../../src/chains/evm/evm-chain.js'), {
  createEvmChain: (original) => (options) => {
    const chain = original(options);
    return { ...chain, sequence: { ...chain.sequence, isAlone: () => false } };
  },
});

const searchedAgain = seam(() => import('../../src/chains/evm/history.js'), {
  findSenderTransaction:
    (original) =>
    (deps, ...args) =>
      original({ ...deps, scans: new Map() }, ...args),
});

const searchedAtOne = seam(() => import('../../src/chains/evm/history.js'), {
  findSenderTransaction:
    (original) =>
    (deps, ...args) =>
      original({ ...deps, rpc: alone(deps.rpc) }, ...args),
});

/** The faults that the matrix of lies finds: each takes a fallback away. */
export const liePlants: readonly Plant[] = [
  {
    name: 'Lies: of two endpoints that number blocks differently, that of the heads is right',
    seams: [seam(() => import('../../src/chains/rpc/misnumbering.js'), { findMisnumbered: () => async () => null })],
    cells: 'head.number / blocks shifted up / the heavier of two',
  },
  {
    name: 'Lies: an endpoint that is away keeps back that the others have no old state',
    seams: [
      seam(() => import('../../src/chains/rpc/circuit-breaker.js'), {
        createCircuitBreaker:
          (original) =>
          (...args) => ({ ...original(...args), trippedForMs: () => 0 }),
      }),
    ],
    cells: 'newestNonce / null / while another is away',
  },
  {
    name: 'Lies: each search for the user of a nonce begins again',
    seams: [searchedAgain],
    cells: 'newestNonce / null / the only URL / restart',
  },
  {
    name: 'Lies: one endpoint decides a high first nonce',
    seams: [firstByOne],
    cells: 'newestNonce / huge for 3 minutes / the only URL / send',
  },
  {
    name: 'Lies: a failing task ends the upkeep of its lane',
    seams: [seam(() => import('../../src/engine/lane/task.js'), { createTaskMaker: () => () => (_name, work) => work })],
    cells: 'receipt / unknown words / the only URL',
  },
  {
    name: 'Lies: a receipt that one node does not have exists nowhere',
    seams: [entry('the transaction of this hash waits', { isEmpty: () => false })],
    cells: 'receipt / null / the heavier of two',
  },
  {
    name: 'Lies: a block in which one node shows nothing of the account holds nothing',
    seams: [entry('the search stops', { isEmpty: () => false }), searchedAtOne],
    cells: 'usesInBlock.nonce / 0 / one of three / restart',
  },
  {
    name: 'Lies: any words of one node about a nonce are the answer',
    seams: [entry('pruned state', { isAnswer: () => true })],
    cells: 'nonceAt / unknown words / the heavier of two',
  },
  {
    name: 'Lies: any words about the head are the answer',
    seams: [entry('no head', { isAnswer: () => true })],
    cells: 'head / unknown words / the heavier of two',
  },
  {
    name: 'Lies: any words about a price are believed, and nothing bounds it',
    seams: [
      seam(() => import('../../src/chains/evm/price-bounds.js'), {
        createPriceBounds: () => () => ({ bounded: async (wei) => wei, demanded: () => undefined }),
      }),
    ],
    cells: 'feeHistory.reward / huge',
  },
  {
    name: 'Lies: a gas price below the base fee counts',
    seams: [
      seam(() => import('../../src/chains/evm/market.js'), {
        createMarket: (original) => (deps) => {
          const market = original(deps);
          const told = async () => (await deps.rpc.opinions((await table()).gasPrice())).toSorted((a, b) => (a < b ? -1 : 1))[0] ?? 0n;
          return {
            ...market,
            priceOf: async (speed, kind) => (kind === 'legacy' ? { kind, gasPriceWei: await told() } : market.priceOf(speed, kind)),
          };
        },
      }),
    ],
    cells: 'gasPrice / 0 / the heavier of two',
  },
  {
    name: 'Lies: a self-transfer waits for a market price',
    seams: [
      seam(() => import('../../src/chains/evm/market.js'), {
        createMarket: (original) => (deps) => {
          const market = original(deps);
          return { ...market, priceToFree: (kind) => market.priceOf('fast', kind) };
        },
      }),
    ],
    cells: 'gasPrice / null / the only URL / cancel',
  },
  {
    name: 'Lies: a self-transfer waits for the balance',
    seams: [waitingFiller(async (rpc, account) => rpc.ask((await table()).balance(account)))],
    cells: 'balance / unknown words / the only URL',
  },
  {
    name: 'Lies: a self-transfer waits for an estimate',
    seams: [
      waitingFiller(async (rpc, account) =>
        rpc.ask((await table()).gasEstimate({ from: account, to: account, valueWei: 0n, data: null }, 'latest')),
      ),
    ],
    cells: 'gasEstimate / unknown words / the only URL',
  },
  {
    name: 'Lies: an L1 fee that is unknown ends a task',
    seams: [
      seam(() => import('../../src/chains/evm/publishing-fee.js'), {
        createPublishingFee: (original) => (deps) => {
          const { network, rpc } = deps;
          const fee = original(deps);
          return {
            ...fee,
            of: async (draft) => {
              if (network.tags.length > 0) await rpc.ask((await table()).publishingFee({ to: `0x${'42'.repeat(20)}`, data: '0x' }));
              return fee.of(draft);
            },
          };
        },
      }),
    ],
    cells: 'publishingFee / unknown words / the only URL',
  },
  {
    name: 'Lies: the gas estimate of one endpoint counts',
    seams: [
      seam(() => import('../../src/chains/evm/draft.js'), {
        draftAttempt: (original) => (deps, request) => original({ ...deps, rpc: alone(deps.rpc) }, request),
      }),
    ],
    cells: 'gasEstimate / too low / one of three / send',
  },
  {
    name: 'Lies: what used a nonce is searched at one endpoint',
    seams: [searchedAtOne],
    cells: 'nonceAt / too low / one of three / restart',
  },
  {
    name: 'Lies: a nonce that nothing explains ends the transaction at once',
    seams: [
      seam(() => import('../../src/engine/lane/give-up-slot.js'), {
        isSearchedLong: () => () => true,
        isProvablyUsed: () => async () => true,
      }),
    ],
    cells: 'usesInBlock.nonce / 0 / the only URL / restart',
  },
  {
    name: 'Lies: a receipt that names another block is an answer',
    seams: [
      seam(() => import('../../src/chains/evm/receipts.js'), {
        createReceipts:
          (original) =>
          (rpc, _branch, ...args) => {
            // Nor does it count that a block which the service has not seen has another hash.
            const batch: Rpc['batch'] = async (calls, options) =>
              calls.some(({ method }) => method === 'eth_getBlockByNumber') ? [] : rpc.batch(calls, options);
            return original({ ...rpc, batch }, { contradicts: () => false, hashAt: () => undefined }, ...args);
          },
      }),
    ],
    cells: 'receipt.blockNumber / 0 / the heavier of two',
  },
  {
    name: 'Lies: a receipt becomes final on the word of one endpoint',
    seams: [finalOnOneWord],
    cells: 'receipt.status / 0 / the heavier of two',
  },
  {
    name: 'Lies: a payment that runs no code fails on the word of the only endpoint',
    seams: [noCodeIsRead],
    cells: 'receipt.status / 0 / the only URL / send',
  },
  {
    name: 'Lies: a block may be at any height',
    seams: [
      seam(() => import('../../src/chains/rpc/lag-tracker.js'), {
        createLagTracker:
          (original) =>
          <T>(...args: Parameters<typeof original<T>>) => ({ ...original<T>(...args), wordsAbout: () => [] }),
      }),
    ],
    cells: 'head.number / too low / the heavier of two / expiry',
  },
  {
    name: 'Lies: an endpoint may be any number of blocks ahead',
    seams: [
      seam(() => import('../../src/chains/rpc/lag-tracker.js'), {
        createLagTracker:
          (original) =>
          <T>(...args: Parameters<typeof original<T>>) => ({
            ...original<T>(...args),
            wordsAbout: () => [],
            standing: () => 'level' as const,
          }),
      }),
    ],
    cells: 'head.number / too high / the heavier of two',
  },
  {
    name: 'Lies: a higher nonce is believed without a second endpoint',
    seams: [seam(() => import('../../src/chains/rpc/endpoint-selector.js'), { firstFor: () => () => 'head' })],
    cells: 'nonceAt / too high / one of three',
  },
];
