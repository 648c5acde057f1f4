import type { Head } from '../../core/ports/chain/head.js';
import type { LaneContext } from './lane-context.js';
import type { Rest } from './rest.js';
import { createHeadTask, type MakeTask } from './task.js';
import { createFeeBumper } from './tasks/bump-fee.js';
import { checkAccount } from './tasks/check-account.js';
import { createHoldEnder } from './tasks/end-holds.js';
import { createExpirer } from './tasks/expire.js';
import { createForeignExplainer } from './tasks/explain-foreign.js';
import { createStillnessExplainer } from './tasks/explain-stillness.js';
import { createGapFiller } from './tasks/fill-gaps.js';
import { createRebroadcaster } from './tasks/rebroadcast.js';
import { createSlotReleaser } from './tasks/release-slot.js';
import { createDelayReporter } from './tasks/report-delays.js';
import { settleSlots } from './tasks/settle-slots.js';
import { type Dead, settleUnsequenced, signAgain } from './tasks/settle-unsequenced.js';

type HeadTask = (head: Head) => Promise<void>;

/** Without a new block, the lane still asks this often whether nodes have its attempts. */
const rebroadcastAgainAfterMs = 30_000;

/** What makes the tasks of upkeep. */
export interface UpkeepTasks {
  readonly task: MakeTask;
  /** Makes a task that signs; see `SlowTasks`. */
  readonly signingTask: MakeTask;
}

/**
 * Makes a round of upkeep: it brings a lane to the newest head, and then does what each head asks for. It needs a head for all but the end
 * of unsigned transactions.
 */
export function createUpkeep(lane: LaneContext, rest: Rest, { task, signingTask }: UpkeepTasks): () => Promise<void> {
  const { heads, doubts } = lane;
  const { sequence, unsequenced } = lane.chain;
  const againSigner = signingTask('sign again', (dead: readonly Dead[], newest: Head) => signAgain(lane, dead, newest));
  /** Each at a new head; until they have succeeded once, nothing else runs. */
  const settling: readonly HeadTask[] = [
    ...(unsequenced === null
      ? []
      : [task('settle unsequenced', (newest: Head) => settleUnsequenced(lane, unsequenced, newest, againSigner))]),
    ...(sequence === null ? [] : [task('settle slots', (newest: Head) => settleSlots(lane, sequence, newest))]),
  ];
  const atEachHead = (make: MakeTask, name: string, work: HeadTask, againAfterMs?: number): HeadTask =>
    createHeadTask(make, name, work, { clock: lane.deps.clock, againAfterMs });
  const fillGaps: readonly HeadTask[] = sequence === null ? [] : [signingTask('fill gaps', createGapFiller(lane, sequence))];
  const keepingUp: readonly HeadTask[] =
    sequence === null
      ? []
      : [
          atEachHead(task, 'explain foreign use', createForeignExplainer(lane, sequence)),
          signingTask('bump fees', createFeeBumper(lane, sequence)),
          atEachHead(signingTask, 'release slot', createSlotReleaser(lane)),
          ...fillGaps,
          atEachHead(task, 'rebroadcast', createRebroadcaster(lane, sequence), rebroadcastAgainAfterMs),
        ];
  const checkIsUsable = task('check account', (newest: Head) => checkAccount(lane, newest));
  const expirer = createExpirer(lane);
  const endHolds = task('end holds', createHoldEnder(lane));
  const explainStillness = task('explain stillness', createStillnessExplainer(lane));
  const reportDelays = task('report delays', createDelayReporter(lane));
  const expireUnsigned = task('expire unsigned', expirer.expireUnsigned);
  const expireSigned = signingTask('expire', expirer.expireSigned);

  return async () => {
    await expireUnsigned(heads.newest);
    await reportDelays();
    const { newest } = heads;
    if (newest === null || heads.isUnreachable) return;
    // It began to rest in the last round, during which another head came.
    if (rest.includes(newest)) return;
    const couldSign = heads.standing() === 'settled';
    if (heads.isDue(newest)) for (const settle of settling) await settle(newest);
    if (newest.hash === heads.settled?.hash) heads.noteRead();
    // What is drafted by now does not wait for the nodes that the tasks below ask.
    if (!couldSign && heads.standing() === 'settled') lane.loops.wakePrepare();
    if (heads.settled !== null) await checkIsUsable(newest);
    await endHolds();
    await explainStillness();
    // After a start, the lane must not sign a transaction again that has ended meanwhile.
    if (heads.settled !== null) await expireSigned(newest);
    // While no node shows the account, nothing that was signed can be mined. After a reset neither, and the gaps show whether the chain
    // returns.
    if (heads.settled !== null && !doubts.has('absent'))
      for (const keepUp of doubts.has('reset') ? fillGaps : keepingUp) await keepUp(newest);
    rest.consider(newest);
    lane.loops.wakePrepare();
    lane.loops.wakeBroadcast();
  };
}
