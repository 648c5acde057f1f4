import type { Refusal } from '../../core/ports/chain.js';
import type { Relayer } from '../../core/relayer/relayer.js';
import type { SolanaContent, SolanaDraft } from '../../core/transaction/solana.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import { nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { atSlotFrom, integerFrom } from './answer.js';
import { readBalance } from './balance.js';
import { base64From } from './base64.js';
import { compileInstructions } from './compile.js';
import { computeBudgetOf, greatestUnitLimit, priorityFeeLamports, withComputeBudget } from './compute-budget.js';
import { namedFeeLamports } from './fee.js';
import type { Lifetimes } from './lifetime.js';
import { lookUpAccounts } from './lookup-tables.js';
import { marketUnitPrice } from './market.js';
import { outflowLamports } from './outflow.js';
import { disallowedAmong, judgesAccounts, solanaPoliciesOf } from './policy.js';
import { isFixed, readTransaction } from './read-transaction.js';
import { simulate } from './simulate.js';
import { type Message, messageBytes, unsignedTransactionBytes, writableAccounts } from './wire.js';

/** What drafting works with. */
export interface DraftDeps {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  readonly lifetimes: Lifetimes;
}

/** Where the relayer's policies set no limit: neither a hostile node nor a wild market may empty the account. */
const greatestPriorityFeeLamports = 10_000_000n;
const microLamportsPerLamport = 1_000_000n;

/**
 * Makes a version that can be signed, or tells why there is none: bound to a blockhash, simulated, priced, and checked for funds and for what policies
 * say of accounts behind tables. Where the relayer signs alone, the blockhash is the newest, and what the transaction does not say of its compute budget
 * is added. Where others have signed, it stays as they signed it. Throws `NODE_UNAVAILABLE`.
 */
export async function draftVersion(deps: DraftDeps, relayer: Relayer, content: SolanaContent): Promise<SolanaDraft | Refusal> {
  const { message: base, signatures, fixed } = baseOf(content, relayer.address);
  const lifetime = fixed ? await deps.lifetimes.given(base.blockhash) : await deps.lifetimes.fresh();
  if ('refused' in lifetime) return lifetime;
  const bound: Message = { ...base, blockhash: lifetime.blockhash };
  const outflow = outflowLamports(bound, relayer.address);
  // Funds first, since programs refuse what the account cannot pay each in their own words.
  const unpaid = await fundsRefusal(deps, relayer, outflow + namedFeeLamports(bound));
  if (unpaid !== null) return unpaid;
  const disallowed = await accountsRefusal(deps.rpc, relayer, bound, lifetime.slot);
  if (disallowed !== null) return disallowed;
  const priced = await pricedVersion(deps.rpc, relayer, bound, fixed, lifetime.slot);
  if ('refused' in priced) return priced;
  const { message, feeLamports } = priced;
  const costLamports = outflow + feeLamports;
  const { blockhash: recentBlockhash, lastValidBlockHeight, slot: sinceSlot } = lifetime;
  return (
    (await fundsRefusal(deps, relayer, costLamports)) ?? {
      network: 'solana',
      message: base64From(messageBytes(message)),
      signatures,
      recentBlockhash,
      lastValidBlockHeight,
      sinceSlot,
      feeLamports,
      costLamports,
    }
  );
}

interface Base {
  readonly message: Message;
  readonly signatures: SolanaDraft['signatures'];
  /** True when nothing of it may be changed. */
  readonly fixed: boolean;
}

function baseOf({ transaction, instructions }: SolanaContent, relayer: string): Base {
  if (transaction === null) return { message: compileInstructions(relayer, instructions), signatures: [null], fixed: false };
  const wire = readTransaction(transaction);
  const signatures = wire.signatures.map((signature, place) => (place === 0 ? null : base64From(signature)));
  return { message: wire.message, signatures, fixed: isFixed(wire) };
}

async function fundsRefusal({ rpc, memory }: DraftDeps, relayer: Relayer, costLamports: bigint): Promise<Refusal | null> {
  const { minBalanceLamports } = solanaPoliciesOf(relayer.policies);
  const key = `balance of ${relayer.address}`;
  const ask = (): Promise<bigint> => readBalance(rpc, relayer.address, 'processed');
  const neededLamports = costLamports + minBalanceLamports;
  if ((await memory.recall(key, ask)) >= neededLamports) return null;
  // The account may just have been filled.
  memory.forget(key);
  const balanceLamports = await memory.recall(key, ask);
  if (balanceLamports >= neededLamports) return null;
  const rest = minBalanceLamports === 0n ? '' : `, and ${minBalanceLamports} lamports must remain`;
  const sentence = `insufficient funds: the account has ${balanceLamports} lamports, the transaction may cost ${costLamports} lamports${rest}`;
  return { refused: 'insufficient_funds', sentence, lasting: false };
}

async function accountsRefusal(rpc: Rpc, relayer: Relayer, { tables }: Message, slot: bigint): Promise<Refusal | null> {
  const policies = solanaPoliciesOf(relayer.policies);
  if (tables.length === 0 || !judgesAccounts(policies)) return null;
  const found = await lookUpAccounts(rpc, tables, slot);
  const problem = 'problem' in found ? found.problem : disallowedAmong(found, relayer.address, policies);
  return problem === null ? null : { refused: 'reverts', sentence: `the transaction ${problem}`, lasting: true };
}

/** The message as it is to be signed, and its fee; or why it cannot run or costs too much. */
async function pricedVersion(
  rpc: Rpc,
  relayer: Relayer,
  bound: Message,
  fixed: boolean,
  slot: bigint,
): Promise<{ readonly message: Message; readonly feeLamports: bigint } | Refusal> {
  const { maxAllowedFeeLamports, maxTxDataSizeBytes } = solanaPoliciesOf(relayer.policies);
  const budget = computeBudgetOf(bound);
  // Whoever bids a price has thought of its limit too.
  const isOurs = !fixed && budget.unitPriceMicroLamports === null;
  const budgeted = (unitLimit: number, unitPriceMicroLamports: bigint | null): Message | null =>
    withComputeBudget(
      bound,
      {
        unitLimit: budget.unitLimit === null ? unitLimit : null,
        unitPriceMicroLamports,
      },
      maxTxDataSizeBytes,
    );
  const widest = isOurs ? budgeted(greatestUnitLimit, 0n) : null;
  const probe = widest ?? bound;
  const [simulation, baseFee, marketPrice] = await Promise.all([
    simulate(rpc, unsignedTransactionBytes(probe), slot),
    readBaseFee(rpc, probe, slot),
    widest === null ? 0n : marketUnitPrice(rpc, writableAccounts(bound)),
  ]);
  if ('refused' in simulation) return simulation;
  const greatestFee = maxAllowedFeeLamports ?? baseFee + greatestPriorityFeeLamports;
  if (baseFee > greatestFee) return feeRefusal(baseFee, greatestFee);
  if (widest === null) return { message: bound, feeLamports: baseFee };
  const unitLimit = budget.unitLimit ?? withMargin(simulation.unitsConsumed);
  const affordable = ((greatestFee - baseFee) * microLamportsPerLamport) / BigInt(Math.max(unitLimit, 1));
  const unitPrice = marketPrice < affordable ? marketPrice : affordable;
  return {
    message: budgeted(unitLimit, unitPrice === 0n ? null : unitPrice) ?? bound,
    feeLamports: baseFee + priorityFeeLamports(unitPrice, unitLimit),
  };
}

/** What the network charges for a message; where nodes leave a priority fee that it names out, with that. */
async function readBaseFee(rpc: Rpc, message: Message, slot: bigint): Promise<bigint> {
  const config = { commitment: 'processed', minContextSlot: Number(slot) };
  const read = (answer: unknown): bigint | null =>
    atSlotFrom(answer, 'fee', (value) => (value === null ? null : integerFrom(value, 'fee'))).value;
  const asked = await rpc.ask('getFeeForMessage', [base64From(messageBytes(message)), config], read, { first: 'head' });
  if (asked === null) throw nodeUnavailable(new Error('the node does not know the blockhash'));
  const named = namedFeeLamports(message);
  return asked > named ? asked : named;
}

function feeRefusal(fee: bigint, greatestFee: bigint): Refusal {
  const sentence = `the transaction costs a fee of ${fee} lamports: at most ${greatestFee}, the relayer's max_allowed_fee_lamports`;
  return { refused: 'above_cap', sentence, lasting: true };
}

/** State may change until it lands. */
function withMargin(unitsConsumed: bigint): number {
  return Math.min(greatestUnitLimit, Number((unitsConsumed * 6n) / 5n) + 1_000);
}
