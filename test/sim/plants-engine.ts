import type { Sequence } from '../../src/core/ports/chain/slots.js';
import type { DoubtedNonce } from '../../src/engine/lane/account-numbers.js';
import type { LaneContext } from '../../src/engine/lane/lane-context.js';
import type { LaneStore } from '../../src/engine/lane/lane-inputs.js';
import type { Plant } from './plants.js';
import { type Seam, seam } from './seam.js';

/** Whether a transaction has the required confirmations is decided from the number of the next block. */
const oneBlockTooEarly = seam(() => import('../../src/engine/lane/block-view.js'), {
  isDeep: (original) => (lane, head, blockNumber) => original(lane, head, blockNumber - 1n),
  finalAt:
    (original) =>
    async (...args) => {
      const isFinal = await original(...args);
      return (blockNumber) => isFinal(blockNumber - 1n);
    },
});

/** Attempts that have to be broadcast are chosen as if no clock had moved: each of the three shows that content has expired. */
const expiredIsDue = seam(() => import('../../src/engine/lane/due-attempts.js'), {
  dueAttempts: (original) => (lane) => {
    const { settled } = lane.heads;
    const deps = {
      ...lane.deps,
      clock: { ...lane.deps.clock, nowMs: () => 0 },
      database: { ...lane.deps.database, timeMs: () => null },
    };
    const heads = Object.create(lane.heads, { settled: { value: settled === null ? null : { ...settled, isOwnTime: true } } });
    return original(seenWith(lane, { deps, heads }));
  },
});

/** Before each request nothing is asked whether content is still due. */
const expiredIsSent = seam(() => import('../../src/engine/lane/tasks/broadcast.js'), {
  createBroadcaster: (original) => (lane) =>
    original(
      seenWith(lane, {
        chain: Object.assign(Object.create(lane.chain), { broadcastAll: (raws: readonly string[]) => lane.chain.broadcastAll(raws) }),
      }),
    ),
});

const broadcastBeforeStored = seam(() => import('../../src/engine/lane/commit-moves.js'), {
  commitMoves: (original) => (lane, planned, nonces) => {
    void lane.chain.broadcastAll(planned.flatMap(({ move }) => move.newAttempt?.raw ?? []));
    return original(lane, planned, nonces);
  },
});

/** Commits of lanes that fail with such an error count as written. */
function commitsAnyway(isIgnored: (error: Error) => boolean): Seam {
  const ignore = (error: unknown): void => {
    if (!(error instanceof Error) || !isIgnored(error)) throw error;
  };
  return seam(() => import('../../src/engine/lane/commit-moves.js'), {
    commitMoves: (original) => (lane, planned, nonces) =>
      original(withStore(lane, { commit: (changes) => lane.deps.store.commit(changes).catch(ignore) }), planned, nonces),
  });
}

function withStore<L extends Pick<LaneContext, 'deps'>>(lane: L, store: Partial<LaneStore>): L {
  return { ...lane, deps: { ...lane.deps, store: { ...lane.deps.store, ...store } } };
}

/** A lane as a task sees it that sees some of it otherwise, now and later. */
function seenWith(lane: LaneContext, changed: Partial<LaneContext>): LaneContext {
  return Object.assign(Object.create(lane), changed);
}

/** Does nothing. */
const nothing = async () => undefined;
/** Makes a task of the lane that does nothing. */
const idle = () => () => nothing;

/** The task that fills gaps works with another view of the chain. */
function gapsWith(changed: Partial<Sequence>): Seam {
  return seam(() => import('../../src/engine/lane/tasks/fill-gaps.js'), {
    createGapFiller: (original) => (lane, sequence) => original(lane, { ...sequence, ...changed }),
  });
}

/** What becomes final is not read again. */
export const finalOnOneWord = seam(() => import('../../src/chains/rpc/second-reading.js'), {
  createSecondReading:
    (original) =>
    (...args) => ({ ...original(...args), of: async (receipts) => new Map(receipts.map(({ hash }) => [hash, 'same'])) }),
});

/** The faults of the engine. */
export const enginePlants: readonly Plant[] = [
  {
    name: 'a doubted nonce is never renewed',
    seams: [
      seam(() => import('../../src/engine/lane/account-numbers.js'), {
        createAccountNumbers:
          (original) =>
          (...args) => {
            const numbers = original(...args);
            const { doubt } = numbers;
            return Object.assign(numbers, { doubt: (answer: DoubtedNonce) => numbers.doubted ?? doubt(answer) });
          },
      }),
    ],
    // The endpoint that showed it must never report the head again: otherwise its next answer ends the doubt.
    faults: ['foreign use', 'outage', 'lag', 'nonce lie'],
  },
  { name: 'a transaction is final one block too early', seams: [oneBlockTooEarly] },
  {
    name: 'a receipt is believed whatever block it names',
    seams: [
      seam(() => import('../../src/engine/lane/block-view.js'), {
        createBlockView:
          (original) =>
          (...args) => {
            const view = original(...args);
            // A receipt names its transaction; the record of a block does not.
            return { ...view, shows: (block) => ('hash' in block ? 'same' : view.shows(block)), admits: () => true };
          },
      }),
      finalOnOneWord,
    ],
    faults: ['reorg', 'kept receipts'],
  },
  {
    name: 'a reorg of a mined transaction is not noticed',
    seams: [
      seam(() => import('../../src/engine/lane/look-up-receipts.js'), {
        lookUpReceipts: (original) => (lane, sequence, head, slots) => original(lane, sequence, head, { ...slots, certain: [] }),
      }),
    ],
  },
  {
    name: 'a block that no node shows counts as another block',
    seams: [
      seam(() => import('../../src/engine/lane/block-view.js'), {
        createBlockView:
          (original) =>
          (...args) => {
            const view = original(...args);
            return { ...view, shows: (block) => view.shows(block) ?? 'another' };
          },
      }),
    ],
    faults: ['lag', 'pool loss', 'lost requests'],
  },
  {
    name: 'a foreign transaction displaces ours before it is final',
    seams: [
      seam(() => import('../../src/engine/lane/tasks/explain-foreign.js'), {
        createForeignExplainer: (original) => (lane, sequence) =>
          original(
            seenWith(lane, {
              relayer() {
                const relayer = lane.relayer();
                return { ...relayer, network: { ...relayer.network, requiredConfirmations: 1 } };
              },
            }),
            { ...sequence, finalBlock: async (head) => head.number },
          ),
      }),
    ],
    faults: ['foreign use', 'priced out'],
  },
  {
    name: 'a nonce that nothing explains ends the transaction at once',
    seams: [
      seam(() => import('../../src/engine/lane/give-up-slot.js'), {
        isSearchedLong: () => () => true,
        isProvablyUsed: () => async () => true,
      }),
      // Every endpoint says whether it has an attempt: that alone is enough.
      seam(() => import('../../src/engine/lane/tasks/explain-foreign.js'), {
        createForeignExplainer: (original) => (lane, sequence) => original(lane, { ...sequence, areGone: async () => true }),
      }),
    ],
  },
  {
    name: 'a failing task ends the upkeep of its lane',
    seams: [seam(() => import('../../src/engine/lane/task.js'), { createTaskMaker: () => () => (_name, task) => task })],
  },
  {
    name: 'expired content is broadcast',
    seams: [expiredIsDue, expiredIsSent],
    // Nodes have to lose the attempt while the cap forbids the self-transfer that replaces it.
    faults: ['valid until', 'pool loss', 'small pool', 'priced out', 'base fee spike', 'crash', 'reorg'],
  },
  { name: 'Stellar: expired transactions are broadcast', network: 'stellar', seams: [expiredIsDue, expiredIsSent] },
  {
    name: 'expired transactions are not replaced',
    seams: [
      seam(() => import('../../src/engine/lane/tasks/expire.js'), {
        createExpirer: () => () => ({ expireUnsigned: nothing, expireSigned: nothing }),
      }),
    ],
  },
  {
    name: 'a failed record of a broadcast ends the process',
    seams: [
      seam(() => import('../../src/engine/lane/move-all.js'), {
        moveAll:
          (original) =>
          (...args) => {
            const moved = original(...args);
            // Nothing handles the failure of this one.
            void moved.then(() => undefined);
            return moved;
          },
      }),
    ],
  },
  {
    name: 'what was stored without an answer is not looked for',
    seams: [
      seam(() => import('../../src/engine/lane/tasks/find-stored.js'), {
        createStoredFinder: (original) => (deps) => ({ ...original(deps), noteUnanswered: () => undefined, noteReturn: () => undefined }),
      }),
    ],
  },
  {
    name: 'attempts that nodes have forgotten are not sent again',
    seams: [
      seam(() => import('../../src/engine/lane/tasks/rebroadcast.js'), {
        createRebroadcaster: (original) => (lane, sequence) =>
          original(seenWith(lane, { transactions: { ...lane.transactions, forgetTaken: () => undefined } }), sequence),
      }),
    ],
  },
  {
    name: 'a slot whose attempt no node accepts is not released',
    seams: [seam(() => import('../../src/engine/lane/tasks/release-slot.js'), { createSlotReleaser: idle })],
  },
  {
    name: 'gaps are not filled',
    seams: [seam(() => import('../../src/engine/lane/tasks/fill-gaps.js'), { createGapFiller: idle })],
    faults: ['reorg', 'foreign use'],
  },
  {
    name: 'a gap is filled at the first look',
    seams: [
      seam(() => import('../../src/engine/lane/tasks/fill-gaps.js'), {
        createGapFiller:
          (original) =>
          (...args) => {
            const fill = original(...args);
            return async (head) => {
              await fill({ ...head, hash: `before ${head.hash}` });
              await fill(head);
            };
          },
      }),
    ],
    faults: ['reorg', 'foreign use'],
  },
  {
    name: 'a bid is raised at every block',
    seams: [
      seam(() => import('../../src/core/fees/choose-price.js'), {
        choosePrice: (original) => (choice) => original(choice.bump?.reason === 'waited' ? { ...choice, bump: null } : choice),
      }),
    ],
    faults: ['congestion', 'crash', 'lag'],
  },
  {
    name: 'an event is missing when a transaction is mined',
    seams: [
      seam(() => import('../../src/core/transaction/transaction-changes.js'), {
        transactionChanges: (original) => (deps, relayer, before, move) => {
          const recordEvent: typeof deps.recordEvent = (of, view) =>
            view.transaction.status === 'mined' ? [] : deps.recordEvent(of, view);
          return original({ ...deps, recordEvent }, relayer, before, move);
        },
      }),
    ],
  },
  {
    name: 'a canceled transaction is recorded as confirmed',
    seams: [
      seam(() => import('../../src/core/transaction/lifecycle.js'), {
        resolved:
          (original) =>
          (...args) => {
            const ended = original(...args);
            return ended.status === 'canceled' ? { ...ended, status: 'confirmed' } : ended;
          },
      }),
    ],
  },
  { name: 'an attempt is broadcast before it is stored', seams: [broadcastBeforeStored] },
  {
    name: 'an owner broadcasts what the fence does not let it store',
    seams: [broadcastBeforeStored],
    faults: ['hung owner', 'burst'],
  },
  {
    name: 'a commit that another owner made impossible counts as written',
    seams: [commitsAnyway(({ name }) => name === 'ConflictError')],
    faults: ['hung owner', 'no fence', 'burst'],
  },
  {
    name: 'a commit that the fence refused counts as written',
    seams: [commitsAnyway(({ message }) => message.includes('took over'))],
    faults: ['hung owner', 'burst'],
  },
  {
    name: 'a new owner does not load what is open',
    seams: [
      seam(() => import('../../src/engine/lane/lane.js'), {
        createLane: (original) => (deps) =>
          original(withStore(deps, { read: { ...deps.deps.store.read, openTransactions: async () => [] } })),
      }),
    ],
    faults: ['hung owner'],
  },
  {
    name: 'what another owner accepted is never looked for',
    seams: [
      seam(() => import('../../src/engine/lane/tasks/find-stored.js'), {
        // A comparison finds it, and so does a look at what has changed.
        createStoredFinder: (original) => (deps) => original({ ...deps, reload: async () => undefined, put: () => undefined }),
      }),
    ],
    faults: ['hung owner', 'no fence', 'burst', 'slow commits', 'replace'],
  },
  {
    name: 'Stellar: a landed fee bump counts as the earlier one around the same transaction',
    network: 'stellar',
    seams: [seam(() => import('../../src/engine/lane/block-view.js'), { mayBeNewer: () => () => false })],
    faults: ['slow signer', 'foreign envelope', 'surge', 'lost requests', 'lost answers', 'slow answers', 'outage', 'stall'],
  },
  {
    name: 'Stellar: a network that began again is believed',
    network: 'stellar',
    seams: [
      seam(() => import('../../src/engine/lane/account-doubts.js'), {
        createAccountDoubts: (original) => (inputs) => ({ ...original(inputs), note: nothing }),
      }),
    ],
    faults: ['reset', 'valid until'],
  },
  {
    name: 'Stellar: a number that a foreign transaction has used is filled if a node that lags shows it as free',
    network: 'stellar',
    seams: [gapsWith({ losesBlocks: true })],
    faults: ['split gateway', 'lag', 'full queue', 'foreign use', 'cancel', 'cancel all', 'drops sent', 'stall', 'busy queue'],
  },
  {
    name: 'Stellar: gaps far below ours are filled, however many they are',
    network: 'stellar',
    seams: [
      seam(() => import('../../src/engine/lane/account-numbers.js'), {
        emptyNonces: (original) => (chainNonce, signedNonce, isTaken) => original(chainNonce, signedNonce, isTaken, 64),
      }),
    ],
    faults: ['lag', 'merge', 'foreign envelope', 'drops sent', 'busy queue'],
  },
  {
    name: 'instances: what others have changed is not taken in',
    instances: 3,
    seams: [
      seam(() => import('../../src/engine/lane/lane.js'), {
        createLane: (original) => (deps) => ({ ...original(deps), changedElsewhere: () => undefined }),
      }),
    ],
    faults: ['burst'],
  },
  {
    name: 'instances: a failed look at what others have changed is not repeated',
    instances: 3,
    seams: [
      seam(() => import('../../src/engine/lane/tasks/find-stored.js'), {
        createStoredFinder: (original) => (deps) => ({ ...original(deps), isBehind: () => false }),
      }),
    ],
    faults: ['failed reads', 'burst'],
  },
  {
    name: 'instances: the position of changes is read after what is open',
    instances: 3,
    seams: [
      seam(() => import('../../src/engine/lane/tasks/find-stored.js'), {
        createStoredFinder: (original) => (deps) => {
          const finder = original(deps);
          return {
            ...finder,
            notePosition: () =>
              void deps.deps.store.read.changePositions(deps.relayer().id).then(
                ({ last }) => finder.notePosition(last),
                () => undefined,
              ),
          };
        },
      }),
    ],
    // One that begins the lane again would load what was missed.
    faults: ['burst', 'slow reads'],
  },
  {
    name: 'instances: a change of another one ends a move without a second look',
    instances: 3,
    seams: [seam(() => import('../../src/core/work/decide-again.js'), { decideAgain: () => (decide) => decide() })],
    faults: ['replace', 'cancel', 'burst', 'slow reads', 'slow commits'],
  },
];
