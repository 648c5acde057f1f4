import type { RpcCall } from '../rpc/json-rpc.js';
import { nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Block, blockFrom, quantityOf } from './answer.js';

/** The newest blocks, each linked to the next by its parent hash. */
export interface Branch {
  /** Takes the newest head, which may be on another branch than the one before. */
  take(head: Block): void;
  /** Returns the hash at this height if parent hashes lead there from the head; undefined: they are not known that far. Calls no node. */
  hashAt(height: bigint): string | undefined;
  /** Reads the blocks that are missing down to this height. False: parent hashes do not lead there. Throws `NODE_UNAVAILABLE`. */
  reach(height: bigint): Promise<boolean>;
}

/** More blocks than that below the head are not remembered. */
const maxDepth = 256n;

type Link = Pick<Block, 'number' | 'hash' | 'parentHash'>;

/** Creates a branch without a head. Costs no call for a block that was seen as the head. */
export function createBranch(rpc: Rpc): Branch {
  const links = new Map<bigint, Link>();
  let tip: Link | null = null;

  /** Returns the lowest block above or at this height to which parent hashes lead. */
  function lowest(height: bigint): Link | null {
    let at = tip;
    while (at !== null && at.number > height) {
      const parent = links.get(at.number - 1n);
      if (parent === undefined || parent.hash !== at.parentHash) break;
      at = parent;
    }
    return at;
  }

  return {
    take({ number, hash, parentHash }) {
      tip = { number, hash, parentHash };
      links.set(number, tip);
      if (links.size <= 2 * Number(maxDepth)) return;
      for (const height of links.keys()) if (height > number || height < number - maxDepth) links.delete(height);
    },
    hashAt(height) {
      if (tip === null || height > tip.number || height < tip.number - maxDepth) return undefined;
      const at = lowest(height);
      return at?.number === height ? at.hash : undefined;
    },
    async reach(height) {
      const from = lowest(height);
      if (from === null) return false;
      const calls: RpcCall<Link | null>[] = [];
      for (let number = from.number - 1n; number >= height; number -= 1n) calls.push(linkCall(number));
      for (const answer of await rpc.batch(calls, { first: 'head' })) {
        if ('error' in answer) throw nodeUnavailable(answer.error);
        if (answer.result !== null) links.set(answer.result.number, answer.result);
      }
      return lowest(height)?.number === height;
    },
  };
}

function linkCall(height: bigint): RpcCall<Link | null> {
  return {
    method: 'eth_getBlockByNumber',
    params: [quantityOf(height), false],
    read(answer) {
      const block = answer === null ? null : blockFrom(answer);
      return block?.number === height ? block : null;
    },
  };
}
