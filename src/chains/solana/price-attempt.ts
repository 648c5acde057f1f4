import { createHash, randomInt } from 'node:crypto';
import type { Refusal } from '../../core/ports/chain.js';
import type { SolanaPolicies } from '../../core/relayer/relayer.js';
import { nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { atSlotFrom, integerFrom } from './answer.js';
import { computeBudgetOf, greatestUnitLimit, namedFeeLamports, priorityFeeLamports, withComputeBudget } from './compute-budget.js';
import { marketUnitPrice } from './market.js';
import { simulate } from './simulate.js';
import { base64From, type Message, messageBytes, unsignedTransactionBytes, writableAccounts } from './wire.js';

/** What is priced. */
export interface Pricing {
  readonly message: Message;
  /** True when nothing of it may be changed: others have signed it. */
  readonly isFixed: boolean;
  /** That the node must have reached. */
  readonly slot: bigint;
  readonly policies: SolanaPolicies;
}

/** The message as it is to be signed, and the fee that it costs. */
export interface PricedMessage {
  readonly message: Message;
  readonly feeLamports: bigint;
}

/** Where the relayer's policies set no limit: neither a hostile node nor a wild market may empty the account. */
const greatestPriorityFeeLamports = 10_000_000n;
const microLamportsPerLamport = 1_000_000n;
/** Limits are drawn from so many, so that transactions which say the same are not the same: see `MadeMessages`. */
const limitsDrawnFrom = 512;
const greatestDraws = 16;

/**
 * Simulates a message and settles what it costs. Where the relayer signs alone and the message bids no price, a limit on what it computes
 * and the market's price are added, as far as there is room and the relayer's greatest fee allows. Throws `NODE_UNAVAILABLE`.
 */
export async function priceAttempt(rpc: Rpc, made: MadeMessages, pricing: Pricing): Promise<PricedMessage | Refusal> {
  const { message, isFixed, slot, policies } = pricing;
  const budget = computeBudgetOf(message);
  // Whoever bids a price has thought of its limit too.
  const isOpen = !isFixed && budget.unitPriceMicroLamports === null;
  const withBudget = (unitLimit: number, unitPriceMicroLamports: bigint | null): Message | null => {
    const added = { unitLimit: budget.unitLimit === null ? unitLimit : null, unitPriceMicroLamports };
    return withComputeBudget(message, added, policies.maxTxDataSizeBytes);
  };
  const widest = isOpen ? withBudget(greatestUnitLimit, 0n) : null;
  const [simulation, baseFee, marketPrice] = await Promise.all([
    simulate(rpc, unsignedTransactionBytes(widest ?? message), slot),
    readFee(rpc, widest ?? message, slot),
    widest === null ? 0n : marketUnitPrice(rpc, writableAccounts(message)),
  ]);
  if ('refused' in simulation) return simulation;
  const greatestFee = policies.maxAllowedFeeLamports ?? baseFee + greatestPriorityFeeLamports;
  if (baseFee > greatestFee) return feeRefusal(baseFee, greatestFee);
  if (widest === null) return isFixed || made.add(message) ? { message, feeLamports: baseFee } : sameRefusal;

  const leastLimit = budget.unitLimit ?? limitFor(simulation.unitsConsumed);
  const limitEnd = budget.unitLimit ?? Math.min(greatestUnitLimit, leastLimit + limitsDrawnFrom - 1);
  for (let draws = 0; draws < greatestDraws; draws += 1) {
    const unitLimit = randomInt(leastLimit, limitEnd + 1);
    const affordable = ((greatestFee - baseFee) * microLamportsPerLamport) / BigInt(Math.max(1, unitLimit));
    const unitPrice = marketPrice < affordable ? marketPrice : affordable;
    const budgeted = withBudget(unitLimit, unitPrice === 0n ? null : unitPrice);
    if (budgeted !== null && made.add(budgeted)) {
      return { message: budgeted, feeLamports: baseFee + priorityFeeLamports(unitPrice, unitLimit) };
    }
  }
  return sameRefusal;
}

/** What the network charges for a message, with the priority fee that it names: some nodes leave that out. */
async function readFee(rpc: Rpc, message: Message, slot: bigint): Promise<bigint> {
  const config = { commitment: 'processed', minContextSlot: Number(slot) };
  const read = (answer: unknown): bigint | null =>
    atSlotFrom(answer, 'fee', (value) => (value === null ? null : integerFrom(value, 'fee'))).value;
  const asked = await rpc.ask('getFeeForMessage', [base64From(messageBytes(message)), config], read, { first: 'head' });
  if (asked === null) throw nodeUnavailable(new Error('the node does not know the blockhash'));
  const named = namedFeeLamports(message);
  return asked > named ? asked : named;
}

/** A fifth more than it took: state may change until it lands. */
function limitFor(unitsConsumed: bigint): number {
  return Math.min(greatestUnitLimit, Number((unitsConsumed * 6n) / 5n) + 1_000);
}

function feeRefusal(feeLamports: bigint, greatestFee: bigint): Refusal {
  const sentence = `the transaction costs a fee of ${feeLamports} lamports: at most ${greatestFee}, the relayer's max_allowed_fee_lamports`;
  return { refused: 'above_cap', sentence, lasting: true };
}

const sameRefusal: Refusal = {
  refused: 'reverts',
  sentence:
    'another transaction says exactly the same with the newest blockhash, and the network would take them for one: it waits for the next',
  lasting: false,
};

/** Messages that were made of late, so that no two transactions are the same one to the network. */
export interface MadeMessages {
  /**
   * False when this very message was made before, with its blockhash: signed again it would have the same signature, and land once for
   * both.
   */
  add(message: Message): boolean;
}

/** Only the newest blockhash is used for new messages; some may be under way with the ones before. */
const blockhashesKept = 8;

/** Makes an empty memory. */
export function createMadeMessages(): MadeMessages {
  const made = new Map<string, Set<string>>();
  return {
    add(message) {
      const digests = made.get(message.blockhash) ?? new Set();
      if (digests.size === 0) made.set(message.blockhash, digests);
      const [oldest] = made.keys();
      if (made.size > blockhashesKept && oldest !== undefined) made.delete(oldest);
      const digest = createHash('sha256').update(messageBytes(message)).digest('base64');
      if (digests.has(digest)) return false;
      digests.add(digest);
      return true;
    },
  };
}
