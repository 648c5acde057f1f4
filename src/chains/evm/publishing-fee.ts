import type { Log } from '../../core/ports/log.js';
import type { EvmNetwork } from '../../core/relayer/network.js';
import type { EvmDraft } from '../../core/transaction/evm.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { quantityFrom, quantityOf } from './answer.js';
import { unsignedBytes } from './sign.js';

/** What the networks of the OP stack charge on top of gas for publishing a transaction on their parent chain. */
export interface PublishingFee {
  /** The fee for a draft in wei, with a margin; 0 where there is none, and where it cannot be learnt. */
  of(draft: EvmDraft): Promise<bigint>;
}

const taggedNetworks: readonly string[] = ['optimism', 'optimism-based', 'optimism_based'];
/** The GasPriceOracle, the same on all of them. */
const oracle = '0x420000000000000000000000000000000000000F';
const getL1Fee = '49948e0e';
/** The parent chain's base fee can rise by an eighth a block. */
const marginPercent = 125n;
/** Longer than most nonces: the fee counts bytes. */
const sampleNonce = 0xffffffn;

/** Asks the oracle that each such network has; others (by their tags) are never asked. */
export function createPublishingFee(network: EvmNetwork, rpc: Rpc, memory: BlockMemory, log: Log): PublishingFee {
  const isCharged = network.tags.some((tag) => taggedNetworks.includes(tag));
  let isTold = false;

  async function ask(draft: EvmDraft): Promise<bigint> {
    const data = callDataFor(unsignedBytes(network.chainId, draft, sampleNonce));
    // Where nothing is deployed at the address the answer is empty, and the node is not to blame.
    return quantityFrom(await rpc.call('eth_call', [{ to: oracle, data }, 'latest'], (answer) => answer), 'L1 fee');
  }

  return {
    async of(draft) {
      if (!isCharged) return 0n;
      // Transfers without data differ by a byte or two, which the margin covers.
      const isPlain = draft.data === null || draft.data === '0x';
      const fee = isPlain ? memory.recall('publishing fee of a transfer', () => ask(draft)) : ask(draft);
      try {
        return ((await fee) * marginPercent) / 100n;
      } catch (error) {
        if (!isTold) log.warn({ network: network.name, err: error }, 'the L1 fee is not known and is left out of funds checks');
        isTold = true;
        return 0n;
      }
    },
  };
}

/** `getL1Fee(bytes)`: the selector, an offset, a length, the padded bytes. */
function callDataFor(bytes: Uint8Array): string {
  const padded = Buffer.alloc(Math.ceil(bytes.length / 32) * 32);
  padded.set(bytes);
  const word = (value: number): string => quantityOf(BigInt(value)).slice(2).padStart(64, '0');
  return `0x${getL1Fee}${word(32)}${word(bytes.length)}${padded.toString('hex')}`;
}
