import { hash } from 'node:crypto';
import { isUnavailable, nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Refusal } from '../../core/ports/chain/drafts.js';
import { max } from '../../core/records/bigints.js';
import type { EvmContent } from '../../core/records/evm.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import type { First } from '../rpc/endpoint-selector.js';
import { isNear } from '../rpc/judged-twice.js';
import type { Rpc } from '../rpc/rpc.js';
import { inUse } from '../rpc/second-word.js';
import { estimateGas, maxTransactionGas, readTransactionLimit } from './gas.js';
import type { Market } from './market.js';
import { median } from './median.js';
import { questions, type SimulatedCall } from './questions.js';

/* How much gas content needs, by the word of several endpoints. */

/** The dependencies of estimates. */
export interface EstimateDeps {
  readonly rpc: Rpc;
  readonly market: Pick<Market, 'blockGasLimit'>;
  readonly memory: BlockMemory;
  /** The block to simulate on: the head's number, since an endpoint behind it must not answer for an older state. */
  readonly headBlock: () => string;
}

/** The gas of a payment that runs no code. */
export const plainTransferGas = 21_000n;

/** An estimate of two endpoints, or why there is none. */
export interface Estimated {
  /** The estimate, or why there is none. */
  readonly estimate: bigint | Refusal;
  /** The lower one if two endpoints gave one; null: none did. */
  readonly least: bigint | null;
  /** The endpoints that gave the estimate. */
  readonly answeredBy: ReadonlySet<number>;
  /** Two endpoints refuse it. */
  readonly isSeconded?: true;
}

/**
 * Estimates with as few calls as possible. A transfer that costs the minimum runs no code, for any amount, and an estimate holds until the
 * next block; both are remembered until then. The higher of two estimates counts, unless a third one contradicts it: gas that is not used
 * costs nothing, and with too little the transaction would revert.
 */
export async function estimateFor(deps: EstimateDeps, account: string, content: EvmContent, isFirst: boolean): Promise<Estimated> {
  const question = simulatedCallOf(account, content);
  const key = `estimate of ${questionDigest(question)}`;
  const own = () => deps.memory.recall(key, () => estimateTwice(deps, question));
  // Of many at once only the first is estimated: the others wait for its answer.
  const ofFirst = isTransfer(content) ? await deps.memory.recall(`first transfer to ${content.to}`, own) : null;
  if (ofFirst?.estimate === plainTransferGas) return ofFirst;
  const estimated = await own();
  const { estimate: atHead, answeredBy } = estimated;
  if (typeof atHead === 'bigint') return estimated;
  deps.memory.forget(key);
  if (atHead.refused === 'reverts' && isFirst) {
    // The transaction may depend on an earlier one that is not mined yet (an approval before its use). A replacement may not, since the
    // pool contains the attempt that it replaces. Not every node has a pending state, and simulating the whole pool is expensive, so this
    // call comes late.
    const onPool = await estimateOnPool(deps, question).catch(() => null);
    if (typeof onPool?.estimate === 'bigint') return onPool;
  }
  if (estimated.isSeconded) return estimated;
  let second = estimated;
  const estimate = await seconded(atHead, deps, async () => {
    second = await asked(deps, question, deps.headBlock(), { otherThan: answeredBy });
    return second.estimate;
  });
  return { ...second, estimate };
}

/** Returns the block gas limit of the head; if this much gas is above that, what most of three endpoints show. */
export async function roomFor({ rpc }: Pick<EstimateDeps, 'rpc'>, shown: bigint | null, gas: bigint): Promise<bigint | null> {
  if (shown === null || gas <= shown) return shown;
  const limits = (await rpc.opinions(questions.head()).catch(() => [])).map(({ gasLimit }) => gasLimit);
  return limits.length < 3 ? shown : median(limits);
}

async function asked({ rpc }: EstimateDeps, question: SimulatedCall, block: string, first: First): Promise<Estimated> {
  const answeredBy = new Set<number>();
  const estimate = await estimateGas(rpc, question, block, { first, answeredBy });
  return { estimate, least: typeof estimate === 'bigint' ? estimate : null, answeredBy };
}

/**
 * Estimates at the endpoint of the head, and at another one if that works: no transaction waits for an endpoint that is down. If they are
 * far apart, a third one decides. Without one the higher counts, unless its own endpoint runs the transaction with the lower: too little
 * gas fails on chain and is paid, while gas that is not used costs nothing.
 */
async function estimateTwice(deps: EstimateDeps, question: SimulatedCall): Promise<Estimated> {
  const [atHead, other, shownLimit] = await Promise.all([
    asked(deps, question, deps.headBlock(), 'head'),
    inUse(deps.rpc) > 1 ? asked(deps, question, deps.headBlock(), 'another').catch(nullIfUnavailable) : null,
    deps.market.blockGasLimit(),
  ]);
  if (other === null) return atHead;
  const ask = async (): Promise<Estimated | null> => {
    const first = { otherThan: new Set([...atHead.answeredBy, ...other.answeredBy]) };
    return inUse(deps.rpc) > 2 ? asked(deps, question, deps.headBlock(), first).catch(nullIfUnavailable) : null;
  };
  if (atHead.least === null || other.least === null) return runsForMost(atHead, other, ask);
  const [lower, higher] = atHead.least < other.least ? [atHead, other] : [other, atHead];
  const [least, most] = [lower.least ?? 0n, higher.least ?? 0n];
  const limit = await roomFor(deps, shownLimit, most);
  // A transaction with the higher one might be refused where one with the lower one is not.
  const isAbsurd =
    (limit !== null && most > limit) ||
    (most > maxTransactionGas && least <= maxTransactionGas && (await transactionLimit(deps, question.from)) !== 'absent');
  if (isAbsurd) return { ...lower, least };
  if (isNear(least, most)) return { ...higher, least };
  const third = await ask();
  if (third?.least != null && isNear(least, third.least) !== isNear(third.least, most))
    return isNear(least, third.least) ? { ...lower, estimate: max(least, third.least), least } : { ...higher, least };
  return (await runsWith(deps, question, marginOver(least), higher.answeredBy)) ? { ...lower, least } : { ...higher, least };
}

/** Of two answers one at least is a refusal: what a third endpoint says decides, if it answers. Else one that estimates is enough. */
async function runsForMost(one: Estimated, other: Estimated, askThird: () => Promise<Estimated | null>): Promise<Estimated> {
  if (one.least === null && other.least === null) return areFinal(one, other) ? { ...one, isSeconded: true } : one;
  const [refused, estimated] = one.least === null ? [one, other] : [other, one];
  // An endpoint that lacks what was mined last refuses, too: a third one must say the same.
  const third = await askThird();
  if (third === null) return estimated;
  if (third.least === null) return areFinal(refused, third) ? { ...refused, isSeconded: true } : estimated;
  return isMore(third, estimated) ? { ...third, least: estimated.least } : { ...estimated, least: third.least };
}

/** True if two endpoints refuse it in words that end a transaction: its execution fails. */
function areFinal(one: Estimated, other: Estimated): boolean {
  const isReverted = ({ estimate }: Estimated) => typeof estimate !== 'bigint' && estimate.refused === 'reverts' && estimate.lasting;
  // The endpoint of the head may have failed, and the other one answered both.
  return isReverted(one) && isReverted(other) && [...one.answeredBy].every((place) => !other.answeredBy.has(place));
}

function isMore(one: Estimated, other: Estimated): boolean {
  return (one.least ?? 0n) > (other.least ?? 0n);
}

/** Estimates at the pools of the endpoint of the head and of another one in use: what one pool alone holds may not exist. */
async function estimateOnPool(deps: EstimateDeps, question: SimulatedCall): Promise<Estimated> {
  const [atHead, other] = await Promise.all([
    asked(deps, question, 'pending', 'head'),
    inUse(deps.rpc) > 1 ? asked(deps, question, 'pending', 'another') : null,
  ]);
  if (other === null || atHead.least === null) return atHead;
  return other.least === null || isMore(other, atHead) ? other : atHead;
}

/** True if these endpoints, which estimated more, run the transaction with this much gas. */
async function runsWith(deps: EstimateDeps, question: SimulatedCall, gas: bigint, places: ReadonlySet<number>): Promise<boolean> {
  const [only] = places;
  if (only === undefined) return false;
  const run = deps.rpc.call(questions.dryRun(question, gas, deps.headBlock()), { first: { only } });
  return run.then(
    () => true,
    () => false,
  );
}

/** Shortens the memory key, since call data may be long. */
export function questionDigest({ from, to, valueWei, data }: SimulatedCall): string {
  return hash('sha256', `${from} ${to} ${valueWei} ${data}`, 'base64');
}

/** Adds 10 % to an estimate. */
export function marginOver(estimate: bigint): bigint {
  return (estimate * 110n) / 100n;
}

/** Whether a transaction may have at most `maxTransactionGas`, read once per block. */
export function transactionLimit({ rpc, memory }: EstimateDeps, account: string): Promise<'in force' | 'absent' | 'unknown'> {
  return memory.recall('transaction gas limit', () => readTransactionLimit(rpc, account));
}

/**
 * Returns the answer of another endpoint to a lasting refusal. If none answers, or there is only one, which cannot confirm itself, the
 * refusal is doubted; `briefly`, if there is only one, unless the caller says otherwise. A limit of blocks may be another one in the next
 * blocks.
 */
export async function seconded(
  refusal: Refusal,
  { rpc }: Pick<EstimateDeps, 'rpc'>,
  askAnother: () => Promise<bigint | Refusal>,
  { briefly }: { readonly briefly: boolean } = { briefly: true },
): Promise<bigint | Refusal> {
  if (!refusal.lasting) return refusal;
  if (rpc.isSingle()) return { ...refusal, lasting: false, isDoubted: briefly ? 'briefly' : true };
  try {
    return await askAnother();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return { ...refusal, lasting: false, isDoubted: true };
  }
}

/** True if it runs no code unless its receiver has some. */
export function isTransfer({ to, data }: EvmContent): boolean {
  return to !== null && (data === null || data === '0x');
}

/** The call that simulates content of this account. */
export function simulatedCallOf(from: string, { to, valueWei, data }: EvmContent): SimulatedCall {
  return { from, to, valueWei, data };
}
