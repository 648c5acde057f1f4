import type { RpcCall } from '../rpc/json-rpc.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import type { Block } from './answer.js';
import { questions } from './questions.js';

/** The newest blocks, each linked to the next by its parent hash. Some networks have numbers without a block. */
export interface Branch {
  /** Takes the newest head, which may be on another branch. Forgets all blocks if heads turned out to be wrong. */
  take(head: Block): Promise<void>;
  /** Returns the hash at this height if parent hashes lead there from the head; undefined: they are not known that far. Calls no node. */
  hashAt(height: bigint): string | undefined;
  /** True if the block with this hash, as far as it is known, is at another height, or another one is there. Calls no node. */
  contradicts(block: { readonly blockNumber: bigint; readonly blockHash: string }): boolean;
  /**
   * Reads the blocks that are missing down to this height. False: parent hashes do not lead there, or it is too far below the head. Throws
   * `NODE_UNAVAILABLE`.
   */
  reach(height: bigint): Promise<boolean>;
}

/** More blocks than that below the head are not remembered. */
export const maxDepth = 256n;

type Link = Pick<Block, 'number' | 'hash' | 'parentHash'>;

/** Creates a branch without a head. Costs no call for a block that was seen as the head. */
export function createBranch(rpc: Rpc): Branch {
  /** By hash. */
  const links = new Map<string, Link>();
  let tip: Link | null = null;
  let takenBack = 0;
  /** All lanes of the network ask the same at once. */
  let reading: { readonly tip: Link; readonly height: bigint; readonly done: Promise<boolean> } | null = null;

  function keep({ number, hash, parentHash }: Link): void {
    links.set(hash, { number, hash, parentHash });
  }

  function parentOf({ number, parentHash }: Link): Link | undefined {
    const parent = parentHash === null ? undefined : links.get(parentHash);
    return parent !== undefined && parent.number < number ? parent : undefined;
  }

  /** Returns the first block at or below this height to which parent hashes lead; else the lowest above it. */
  function lowest(height: bigint): Link | null {
    let at = tip === null ? null : (links.get(tip.hash) ?? tip);
    while (at !== null && at.number > height) {
      const parent = parentOf(at);
      if (parent === undefined) break;
      at = parent;
    }
    return at;
  }

  /** A gap below the head: the network has no block there, or an endpoint showed the parent, and the blocks below it, at a wrong height. */
  async function isParentElsewhere({ number, parentHash }: Link): Promise<boolean> {
    const parent = parentHash === null ? undefined : links.get(parentHash);
    if (parent === undefined || parent.number === number - 1n) return false;
    const [answer] = await rpc.batch([questions.blockOfHash(parent.hash)], { first: 'head' });
    return answer === undefined || !('result' in answer) || answer.result?.number !== parent.number;
  }

  /** Returns the hashes of the blocks that the endpoint of the head shows. */
  async function read(calls: readonly RpcCall<Link | null>[]): Promise<ReadonlySet<string>> {
    const shown = new Set<string>();
    for (const answer of await rpc.batch(calls, { first: 'head' })) {
      if ('result' in answer) {
        if (answer.result !== null) {
          keep(answer.result);
          shown.add(answer.result.hash);
        }
        continue;
      }
      // Some nodes answer with an error if a number has no block.
      if (!(answer.error instanceof NodeError)) throw nodeUnavailable(answer.error);
    }
    return shown;
  }

  /**
   * Asks another endpoint for the parents of blocks that name an unknown one: the endpoint of the head may misstate them. Only what that
   * endpoint has just `shown` becomes a parent: an orphan is known, too.
   */
  async function correctParents(from: Link, height: bigint, shown: ReadonlySet<string>): Promise<void> {
    const broken = [...links.values()].filter(
      (link) => link.number <= from.number && link.number > height && link.parentHash !== null && parentOf(link) === undefined,
    );
    if (rpc.isSingle() || broken.length === 0) return;
    const answers = await rpc.batch(
      broken.map(({ number }) => questions.block(number)),
      { first: 'another' },
    );
    for (const [index, { number, hash }] of broken.entries()) {
      const answer = answers[index];
      const block = answer !== undefined && 'result' in answer ? answer.result : null;
      const isShown = block?.parentHash != null && shown.has(block.parentHash);
      if (isShown && block.hash === hash && parentOf(block) !== undefined) links.set(hash, { number, hash, parentHash: block.parentHash });
    }
  }

  /** Reads the blocks at the numbers between the lowest known block and this height: first the unknown ones, then all, as after a reorg. */
  async function extend(height: bigint): Promise<boolean> {
    const known = new Set([...links.values()].map(({ number }) => number));
    let shown: ReadonlySet<string> = new Set();
    for (const isWanted of [(number: bigint) => !known.has(number), () => true]) {
      const from = lowest(height);
      if (from === null) return false;
      const calls: RpcCall<Link | null>[] = [];
      for (let number = from.number - 1n; number >= height; number -= 1n) if (isWanted(number)) calls.push(questions.block(number));
      shown = calls.length > 0 ? await read(calls) : new Set();
    }
    const broken = lowest(height);
    if (broken !== null && broken.number > height) await correctParents(broken, height, shown);
    // The parent may be below the height, if that has no block.
    const last = lowest(height);
    if (last !== null && last.number > height && last.parentHash !== null) await read([questions.blockOfHash(last.parentHash)]);
    const reached = lowest(height);
    return reached !== null && reached.number <= height;
  }

  function hashAt(height: bigint): string | undefined {
    if (tip === null || height > tip.number || height < tip.number - maxDepth) return undefined;
    const at = lowest(height);
    return at?.number === height ? at.hash : undefined;
  }

  return {
    async take(head) {
      if (takenBack !== rpc.wrongHeads() || (await isParentElsewhere(head))) links.clear();
      takenBack = rpc.wrongHeads();
      tip = head;
      keep(head);
      if (links.size <= 2 * Number(maxDepth)) return;
      for (const { number, hash } of [...links.values()]) if (number > head.number || number < head.number - maxDepth) links.delete(hash);
      // A node can show any number of blocks at one height.
      if (links.size > 2 * Number(maxDepth)) links.clear();
      keep(head);
    },
    hashAt,
    contradicts({ blockNumber, blockHash }) {
      const known = links.get(blockHash);
      return known === undefined ? (hashAt(blockNumber) ?? blockHash) !== blockHash : known.number !== blockNumber;
    },
    reach(height) {
      // The head may have moved since the caller chose the height, and an endpoint can claim any number.
      if (tip === null || tip.number - height > maxDepth) return Promise.resolve(false);
      const at = lowest(height);
      if (at !== null && at.number <= height) return Promise.resolve(true);
      if (reading?.tip === tip && reading.height === height) return reading.done;
      const started = { tip, height, done: extend(height) };
      reading = started;
      const end = () => {
        if (reading === started) reading = null;
      };
      started.done.then(end, end);
      return started.done;
    },
  };
}
