import { quantityFrom } from '../../src/chains/evm/answer.js';
import type { RpcCall } from '../../src/chains/rpc/json-rpc.js';
import type { Rpc } from '../../src/chains/rpc/rpc.js';
import type { Statuses } from '../../src/chains/solana/questions.js';
import type { Plant } from './plants.js';
import { finalOnOneWord } from './plants-engine.js';
import { seam } from './seam.js';

/** The blocks that could include an attempt are not read. */
const noBlocksRead = seam(() => import('../../src/chains/solana/absence.js'), {
  createAbsence:
    (original) =>
    (...args) => ({
      ...original(...args),
      among: async (attempts, { slots }) =>
        attempts.flatMap((attempt) => {
          const { sinceSlot, sinceHeight, lastValidBlockHeight } = attempt.fields;
          const blocks = Number(lastValidBlockHeight - sinceHeight) + 1;
          const slot = slots[slots.findIndex((one) => one >= sinceSlot) + blocks - 1];
          return slot === undefined ? [] : [{ attempt, blocks, last: { slot, height: null, hash: '', parentHash: '' } }];
        }),
    }),
});

/** Asks the endpoint of the head whatever endpoint a call is for, and calls itself one of several. */
function atHeadOnly(rpc: Rpc): Rpc {
  const first = 'head' as const;
  return {
    ...rpc,
    isSingle: () => false,
    ask: (call, options) => rpc.ask(call, { ...options, first }),
    call: (call, options) => rpc.call(call, { ...options, first }),
    batch: (calls, options) => rpc.batch(calls, { ...options, first }),
    together: (calls, options) => rpc.together(calls, { ...options, first }),
  };
}

/** The faults of the chains. */
export const chainPlants: readonly Plant[] = [
  {
    name: 'a higher nonce is believed without a second endpoint',
    seams: [seam(() => import('../../src/chains/rpc/endpoint-selector.js'), { firstFor: () => () => 'head' })],
  },
  {
    name: "a node's word about a sender is believed",
    seams: [
      seam(() => import('../../src/chains/evm/recover-sender.js'), {
        senderFrom: () => (transaction) => ({
          account: String(transaction.from),
          hash: String(transaction.hash),
          nonce: quantityFrom(transaction.nonce, 'nonce'),
          to: String(transaction.to),
          valueWei: quantityFrom(transaction.value, 'value'),
          data: String(transaction.input),
        }),
      }),
      finalOnOneWord,
    ],
    faults: ['forged sender', 'congestion'],
  },
  {
    name: 'an endpoint that claims blocks which cannot exist is believed',
    seams: [
      seam(() => import('../../src/chains/rpc/fork-detector.js'), {
        createForkDetector: (original) => (options) => ({ ...original(options), isForked: async () => false }),
      }),
      seam(() => import('../../src/chains/rpc/lag-tracker.js'), {
        createLagTracker:
          (original) =>
          <T>(...args: Parameters<typeof original<T>>) => {
            const tracker = original<T>(...args);
            return {
              ...tracker,
              standing(...of: Parameters<typeof tracker.standing>) {
                const standing = tracker.standing(...of);
                return standing === 'ahead' ? 'level' : standing;
              },
            };
          },
      }),
      seam(() => import('../../src/chains/evm/confirmations.js'), {
        createConfirmations: () => (deps) => ({
          isDisputed: () => false,
          finalBlock: async (head, required) =>
            required === 1 || deps.branch.hashAt(head.number) === head.hash ? head.number - BigInt(required) + 1n : null,
        }),
      }),
    ],
    faults: ['invented blocks', 'reorg'],
  },
  {
    name: 'a broadcast that no node answered counts as accepted',
    seams: [
      seam(() => import('../../src/chains/evm/broadcast.js'), {
        createBroadcaster:
          (original) =>
          (...args) => {
            const broadcaster = original(...args);
            return {
              async send(raws) {
                const outcomes = await broadcaster.send(raws);
                return outcomes.map((one) => (one.kind === 'unknown' && one.because === undefined ? { kind: 'accepted' } : one));
              },
            };
          },
      }),
    ],
  },
  {
    name: 'Solana: death is proved by answers of different nodes, and without blocks',
    network: 'solana',
    seams: [
      noBlocksRead,
      seam(() => import('../../src/chains/solana/history.js'), { hasEveryBlock: () => () => true }),
      seam(() => import('../../src/chains/solana/attempt-outcomes.js'), {
        createAttemptOutcomes:
          (original) =>
          ({ rpc, ...deps }) => {
            const apart: Rpc['together'] = async (calls) => {
              const answers = await Promise.all(
                calls.map(({ method, params, read }) => rpc.ask({ method, params, read }, { first: 'head' })),
              );
              return answers.map((one) => (isStatuses(one) ? { ...one, slot: endOfTime } : one)) as never;
            };
            // The second search finds nothing, and every blockhash has expired.
            const search: Rpc['call'] = async ({ params }) =>
              ({ slot: endOfTime, value: (params as readonly [readonly string[]])[0].map(() => null) }) as never;
            const ask: Rpc['ask'] = async (call, options) =>
              call.method === 'isBlockhashValid' ? ({ slot: endOfTime, value: false } as never) : rpc.ask(call, options);
            return original({ ...deps, rpc: { ...rpc, together: apart, call: search, ask } });
          },
      }),
    ],
  },
  {
    name: 'Solana: an attempt is dead when its blockhash has expired in a block that is not final',
    network: 'solana',
    seams: [
      seam(() => import('../../src/chains/solana/attempt-outcomes.js'), {
        createAttemptOutcomes:
          (original) =>
          ({ rpc, ...deps }) => {
            const early = <C extends RpcCall<unknown>>(call: C): C => ({
              ...call,
              params: JSON.parse(JSON.stringify(call.params).replace('"finalized"', '"confirmed"')),
            });
            return original({
              ...deps,
              rpc: {
                ...rpc,
                ask: (call, options) => rpc.ask(early(call), options),
                together: (calls, options) => rpc.together((calls as readonly RpcCall<unknown>[]).map(early) as never, options),
              },
            });
          },
      }),
    ],
    faults: ['reorg', 'late packets', 'lost packets'],
  },
  {
    name: 'Solana: the blocks that could include an attempt are not read',
    network: 'solana',
    seams: [noBlocksRead],
    faults: ['lost index', 'snapshot restart', 'crash', 'outage', 'stall', 'full disk'],
  },
  {
    name: 'Solana: what a node that shifted its slots has shown is never read again',
    network: 'solana',
    seams: [
      seam(() => import('../../src/chains/solana/block-contents.js'), {
        createBlockContents:
          (original) =>
          (...args) => ({ ...original(...args), forget: () => undefined, forgetAll: () => undefined }),
      }),
    ],
    faults: ['shifted slots', 'forwards nothing', 'reorg', 'lag'],
  },
  {
    name: 'Solana: a transaction is final in a block that is not finalized',
    network: 'solana',
    seams: [
      seam(() => import('../../src/chains/solana/attempt-outcomes.js'), {
        createAttemptOutcomes:
          (original) =>
          ({ rpc, ...deps }) => {
            const ask: Rpc['ask'] = async (call, options) => {
              const answer = await rpc.ask(call, options);
              if (!isStatuses(answer) || !Array.isArray(answer.value)) return answer;
              return { ...answer, value: answer.value.map((status) => (status === null ? null : { ...status, isFinal: true })) };
            };
            return original({ ...deps, rpc: { ...rpc, ask } });
          },
      }),
    ],
  },
  {
    name: 'Solana: a cluster with another genesis block is believed',
    network: 'solana',
    seams: [
      seam(() => import('../../src/chains/rpc/endpoint.js'), {
        createEndpoint: (original) => (options) => original({ ...options, genesisHash: () => null }),
      }),
    ],
    faults: ['reset'],
  },
  {
    name: 'Stellar: an envelope that nobody signed displaces ours',
    network: 'stellar',
    seams: [seam(() => import('../../src/chains/stellar/sign.js'), { hasSigned: () => () => true }), finalOnOneWord],
    faults: ['forged envelope', 'lost requests'],
  },
  {
    name: 'Stellar: a transaction of another account is dead on a network that began again',
    network: 'stellar',
    seams: [
      seam(() => import('../../src/chains/stellar/receipts.js'), {
        readTransactions:
          (original) =>
          async (...args) => {
            const views = await original(...args);
            // As if no node could be behind the ledger that it is asked about.
            return new Map([...views].map(([hash, view]) => [hash, { ...view, latestLedger: view.latestLedger + 2n ** 32n }]));
          },
      }),
    ],
    faults: ['reset', 'foreign envelope', 'drops sent', 'stall'],
  },
  {
    name: 'Stellar: a bid that meets the market is raised',
    network: 'stellar',
    seams: [
      seam(() => import('../../src/chains/stellar/bump-fee.js'), {
        bumpFee: (original) => (deps, request) => original(deps, { ...request, reason: 'demanded' }),
      }),
    ],
  },
  {
    name: 'Stellar: one node ends a fee bump that another may have in a ledger',
    network: 'stellar',
    seams: [
      seam(() => import('../../src/chains/stellar/attempt-outcomes.js'), {
        createAttemptOutcomes: (original) => (deps) => original({ ...deps, rpc: atHeadOnly(deps.rpc) }),
      }),
    ],
    faults: ['foreign envelope', 'wrong receipts', 'drops sent'],
  },
  {
    name: 'Stellar: a transaction becomes final by the word of one node',
    network: 'stellar',
    seams: [finalOnOneWord],
    faults: ['wrong receipts'],
  },
  {
    name: 'Stellar: archived entries are restored as often as a node asks for it',
    network: 'stellar',
    seams: [
      seam(() => import('../../src/chains/stellar/restore-before.js'), {
        restoreBefore:
          (original) =>
          (...args) => ({ ...original(...args), sent: null }),
      }),
    ],
    faults: ['contract call', 'restores', 'lag'],
  },
];

/** Later than any slot. */
const endOfTime = 2n ** 62n;

function isStatuses(answer: unknown): answer is Statuses {
  return typeof answer === 'object' && answer !== null && 'value' in answer && 'slot' in answer;
}
