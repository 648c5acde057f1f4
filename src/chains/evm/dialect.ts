import type { NodeDialect } from '../rpc/dialect.js';
import { quantityFrom } from './answer.js';
import { blockFrom } from './block.js';
import { saysStateIsGone } from './pruned.js';

/** Limit exceeded, resource unavailable, internal error, no such method. */
const codesAboutNode: readonly number[] = [-32005, -32002, -32603, -32601];

/** How nodes of the EVM network with this chain id are asked. */
export function evmDialect(chainId: bigint): NodeDialect {
  return {
    identity: {
      name: 'chain id',
      call: { method: 'eth_chainId', params: [], read: (result) => (typeof result === 'string' ? result : JSON.stringify(result)) },
      expected: chainId.toString(),
      isOurs: (said) => /^0x[0-9a-f]{1,64}$/i.test(said) && BigInt(said) === chainId,
    },
    genesis: { method: 'eth_getBlockByNumber', params: ['0x0', false], read: (block) => blockFrom(block).hash },
    height: { method: 'eth_blockNumber', params: [], read: (result) => quantityFrom(result, 'block number') },
    isAboutNode: (code, text) => codesAboutNode.includes(code) || saysStateIsGone(text),
    dataFrom: (data) => (typeof data === 'string' ? (/0x(?:[0-9a-f]{2})*/i.exec(data)?.[0].toLowerCase() ?? null) : null),
  };
}
