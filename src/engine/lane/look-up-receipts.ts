import type { Head } from '../../core/ports/chain/head.js';
import type { Receipt } from '../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import { hashesOf, type OpenTransaction } from '../../core/records/transaction.js';
import { attemptsInSlot } from '../../core/transaction/outbid.js';
import type { BlockView } from './block-view.js';
import type { LaneContext } from './lane-context.js';
import type { Tracked } from './tracked.js';

/** These lowest slots are looked up most often: slots are used in order, so the others change only after them. */
const lowestPerHead = 4;
/**
 * In the long run one of the lowest costs a call per head, however many attempts it has; each of them is a call. The looks become less
 * frequent up to this number of looks that find nothing, and of heads from one to the next.
 */
const maxPauses = 8;
/** Of the others that an earlier look did not find, this many are looked up per head. */
const othersPerHead = 12;
/** The number of heads until the next look doubles with each that finds nothing, at most this many times. */
const maxDoublings = 4;
/** After one of the lowest is found, those above it follow in groups, each twice as large as the last. */
const firstGroup = 16;

/** The receipts of the slots that were looked up. */
export interface Look {
  readonly asked: readonly OpenTransaction[];
  readonly found: ReadonlyMap<string, Receipt>;
  /** No node gave a readable answer about these hashes, which proves nothing. */
  readonly unanswered: ReadonlySet<string>;
}

/**
 * Looks up receipts for slots that the account's nonce says are used, lowest first. A node may claim that for slots that only wait, at
 * every head and for thousands of them. So each slot is looked up once; after that, a head costs the same with any number of them and of
 * their attempts, and more only for receipts that are found and can settle a slot. `certain`: these slots are looked up in any case.
 * Throws `NODE_UNAVAILABLE`.
 */
export async function lookUpReceipts(
  lane: LaneContext,
  sequence: Sequence,
  head: Head,
  {
    used,
    certain,
    blocks,
  }: { readonly used: readonly OpenTransaction[]; readonly certain: readonly OpenTransaction[]; readonly blocks: BlockView },
): Promise<Look> {
  const { settled } = lane.heads;
  const from = settled === null ? 0n : settled.number < head.number ? settled.number + 1n : head.number;
  const asked: OpenTransaction[] = [];
  const found = new Map<string, Receipt>();
  const unanswered = new Set<string>();

  /** Returns whether any receipt can settle its slot: at every head, a node can show receipts in blocks that are not there. */
  async function lookUp(group: readonly OpenTransaction[]): Promise<boolean> {
    const hashes = group.flatMap(slotHashes);
    if (hashes.length === 0) return false;
    const answers = await sequence.receipts(hashes, { from, to: head.number });
    asked.push(...group);
    for (const [hash, receipt] of answers.found) found.set(hash, receipt);
    for (const hash of answers.unanswered) unanswered.add(hash);
    for (const open of group) if (!slotHashes(open).some((hash) => answers.unanswered.has(hash))) noteLook(lane, open);
    await blocks.read([...answers.found.values()].map(({ blockNumber }) => blockNumber));
    return [...answers.found.values()].some(blocks.admits);
  }

  function admitted(hash: string): boolean {
    const receipt = found.get(hash);
    return receipt !== undefined && blocks.admits(receipt);
  }

  const due = dueOf(lane, used);
  await lookUp([...certain, ...due]);
  const isLowestFound = used.slice(0, lowestPerHead).some((open) => slotHashes(open).some(admitted));
  const rest = isLowestFound ? used.filter((open) => !due.has(open)) : [];
  for (let start = 0, size = firstGroup; start < rest.length; start += size, size *= 2)
    if (!(await lookUp(rest.slice(start, start + size)))) break;
  return { asked, found, unanswered };
}

/** The hashes under which a block may contain an attempt in the transaction's slot. */
export function slotHashes(open: OpenTransaction): readonly string[] {
  return attemptsInSlot(open).flatMap(hashesOf);
}

/** The lowest, attempts that were never looked up, and some of the others: those whose turn came first. */
function dueOf({ transactions, heads }: LaneContext, used: readonly OpenTransaction[]): ReadonlySet<OpenTransaction> {
  const due = new Set<OpenTransaction>();
  const others: { readonly open: OpenTransaction; readonly nextAtHead: number }[] = [];
  for (const [index, open] of used.entries()) {
    const looks = transactions.tracked(open.transaction.id)?.looks ?? null;
    if (looks === null) due.add(open);
    else if (index < lowestPerHead) {
      const pause = Math.min(maxPauses, Math.ceil((Math.min(maxPauses, looks.count) * slotHashes(open).length) / maxPauses));
      if (pause === 1 || heads.count - looks.atHead >= pause) due.add(open);
    } else if (nextAtHead(looks) <= heads.count) others.push({ open, nextAtHead: nextAtHead(looks) });
  }
  others.sort((a, b) => a.nextAtHead - b.nextAtHead);
  for (const { open } of others.slice(0, othersPerHead)) due.add(open);
  return due;
}

function nextAtHead({ count, atHead }: NonNullable<Tracked['looks']>): number {
  return atHead + 2 ** Math.min(count - 1, maxDoublings);
}

function noteLook({ transactions, heads }: LaneContext, { transaction }: OpenTransaction): void {
  const record = transactions.tracked(transaction.id);
  if (record !== undefined) record.looks = { count: (record.looks?.count ?? 0) + 1, atHead: heads.count };
}
