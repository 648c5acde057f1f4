import type { NodeDialect } from '../rpc/json-rpc.js';
import { isRevert } from './execution-failure.js';
import { questions } from './questions.js';

/** Limit exceeded, resource unavailable, internal error, no such method. */
const codesAboutNode: readonly number[] = [-32005, -32002, -32603, -32601];

/** The dialect of EVM nodes on the network with this chain ID. */
export function evmDialect(chainId: bigint): NodeDialect {
  return {
    identity: {
      name: 'chain ID',
      call: questions.chainId(),
      expected: chainId.toString(),
      shown: (answered) => (/^0x[0-9a-f]{1,64}$/i.test(answered) ? BigInt(answered).toString() : answered),
    },
    genesis: questions.anchor,
    position: questions.head(),
    blockAt: questions.block,
    newHeads: questions.newHeads(),
    isVerdict: isRevert,
    isAboutNode: (code, text) => codesAboutNode.includes(code) || isStatePruned(text),
    dataFrom: (data) => (typeof data === 'string' ? (/0x(?:[0-9a-f]{2})*/i.exec(data)?.[0].toLowerCase() ?? null) : null),
  };
}

/**
 * Reports whether a node's error means that it has pruned the state or never had it. An unknown block ("header not found", "Unknown block")
 * does not: the node may only lag.
 */
export function isStatePruned(text: string): boolean {
  const outOfRange = /block height is (\d+) but requested was (\d+)/i.exec(text);
  // anvil uses the same text for pruned state and for a future block.
  if (outOfRange !== null) return Number(outOfRange[2]) <= Number(outOfRange[1]);
  return prunedStateTexts.test(text);
}

/** Reports whether a node's error means that it does not have the requested block: it lags, or a reorg removed the block. */
export function isBlockUnknown(text: string): boolean {
  return unknownBlockTexts.test(text);
}

// geth, reth and gateways "header not found"; nethermind "<number> could not be found"; erigon "block not found: <number>"; besu "Unknown
// block"; anvil "BlockOutOfRangeError: block height is <number> but requested was <number>".
const unknownBlockTexts =
  /(?:header|block) (?:for .{0,80} )?not found|(?:block|header) .{0,80}not found|could not be found|unknown block|block ?out ?of ?range|but requested was \d+/i;

// geth "missing trie node ...", "historical state ... is not available", "required historical state unavailable"; erigon "old data not
// available due to pruning"; nethermind "No state available for block ..."; reth "state at block #1 is pruned", "pruned history
// unavailable"; besu "World state unavailable"; anvil "Required data unavailable"; gateways "... archive node ...".
const prunedStateTexts =
  /missing trie node|historical state|state.{0,80}(?:not available|unavailable|is pruned)|pruning|pruned|no state available|required data unavailable|archive/i;
