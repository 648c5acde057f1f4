import type { EvmDraft } from '../../core/records/evm.js';
import type { EvmNetwork } from '../../core/records/network.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { quantityOf } from './answer.js';
import { upperMedian } from './median.js';
import { questions } from './questions.js';
import { unsignedBytes } from './sign.js';
import { createTrustedAmount } from './trusted-amount.js';

/** A draft without its L1 fee. */
export type Unpublished = Omit<EvmDraft, 'publishingFeeWei'>;

/** The L1 fee, which OP stack networks charge on top of gas to publish a transaction on their parent chain. */
export interface PublishingFee {
  /** Returns the fee for a draft in wei, with a margin; 0 if the network charges none or no node can report it. */
  of(draft: Unpublished): Promise<bigint>;
  /** Returns the fee that several nodes know, for content whose cost a rule bounds. Throws `NODE_UNAVAILABLE` if no node can report it. */
  known(draft: Unpublished): Promise<bigint>;
}

const taggedNetworks: readonly string[] = ['optimism', 'optimism-based', 'optimism_based'];
const taggedByGas: readonly string[] = ['arbitrum', 'arbitrum-based', 'arbitrum_based'];

/** True if the network charges for publishing as gas: a gas limit that was enough may no longer be when the parent chain's fee rises. */
export function paysPublishingByGas({ tags }: EvmNetwork): boolean {
  return tags.some((tag) => taggedByGas.includes(tag));
}

/** The GasPriceOracle contract, at the same address on all OP stack networks. */
const oracle = '0x420000000000000000000000000000000000000F';
const getL1Fee = '49948e0e';
/** The parent chain's base fee can rise by 12.5 % per block. */
const marginPercent = 125n;
/** Up to this multiple of a proved fee per byte needs no proof. */
const trustedFactor = 4n;
/** Longer than most nonces, since the fee depends on the number of bytes. */
const sampleNonce = 0xffffffn;

/** The dependencies of `createPublishingFee`. */
export interface PublishingFeeDeps {
  readonly network: EvmNetwork;
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  readonly log: Log;
  readonly clock: Pick<DurationClock, 'elapsedMs'>;
}

/** Reads the fee from the network's oracle. Networks without an OP stack tag charge none. */
export function createPublishingFee({ network, rpc, memory, log, clock }: PublishingFeeDeps): PublishingFee {
  const isCharged = network.tags.some((tag) => taggedNetworks.includes(tag));
  let isLogged = false;
  const trustedPerByteWei = createTrustedAmount(0n, trustedFactor, clock.elapsedMs);

  /** One node must not keep the account from paying by a huge fee: the lowest of several counts. */
  async function ask(draft: Unpublished): Promise<bigint> {
    const bytes = unsignedBytes(network.chainId, draft, sampleNonce);
    const length = BigInt(bytes.length);
    const question = questionFor(bytes);
    const fee = knownFrom(await rpc.call(question).catch(asUnavailable));
    if (rpc.isSingle() || fee <= trustedPerByteWei.highest() * length) return fee;
    const opinions = await rpc.opinions(question);
    const lowest = opinions.reduce<bigint>((least, opinion) => (opinion !== null && opinion < least ? opinion : least), fee);
    // What one endpoint alone shows is not trusted later.
    if (opinions.length > 1) trustedPerByteWei.proved(lowest / length + 1n);
    return lowest;
  }

  /** What a rule lets content cost must hold although one node shows too low a fee: of three, what most show counts; of two, the higher. */
  async function askSeveral(draft: Unpublished): Promise<bigint> {
    const shown = await rpc.opinions(questionFor(unsignedBytes(network.chainId, draft, sampleNonce))).catch(asUnavailable);
    return knownFrom(upperMedian(shown.filter((fee) => fee !== null)));
  }

  async function withMargin(draft: Unpublished, kind: string, read: (draft: Unpublished) => Promise<bigint>): Promise<bigint> {
    if (!isCharged) return 0n;
    // Transfers without data differ by a byte or two, which the margin covers.
    const isPlain = draft.data === null || draft.data === '0x';
    const fee = isPlain ? memory.recall(`${kind} publishing fee of a transfer`, () => read(draft)) : read(draft);
    return ((await fee) * marginPercent) / 100n;
  }

  return {
    known: (draft) => withMargin(draft, 'known', askSeveral),
    async of(draft) {
      try {
        return await withMargin(draft, 'likely', ask);
      } catch (error) {
        if (!isLogged) log.warn({ network: network.name, err: error }, 'L1 fee is unknown; left out of funds checks');
        isLogged = true;
        return 0n;
      }
    },
  };
}

function questionFor(bytes: Uint8Array) {
  return questions.publishingFee({ to: oracle, data: callDataFor(bytes) });
}

function knownFrom(fee: bigint | null): bigint {
  if (fee === null) throw nodeUnavailable(new Error('the contract that reports it does not exist'));
  return fee;
}

function asUnavailable(error: unknown): never {
  throw error instanceof NodeError ? nodeUnavailable(error) : error;
}

/** Encodes `getL1Fee(bytes)`: the selector, an offset, a length, the padded bytes. */
function callDataFor(bytes: Uint8Array): string {
  const padded = Buffer.alloc(Math.ceil(bytes.length / 32) * 32);
  padded.set(bytes);
  const word = (value: number): string => quantityOf(BigInt(value)).slice(2).padStart(64, '0');
  return `0x${getL1Fee}${word(32)}${word(bytes.length)}${padded.toString('hex')}`;
}
