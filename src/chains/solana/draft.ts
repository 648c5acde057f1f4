import { createHash } from 'node:crypto';
import { getAddressDecoder } from '@solana/kit';
import { type DraftRequest, forbiddenBecause, forbiddenByRules, type Refusal } from '../../core/ports/chain/drafts.js';
import { max } from '../../core/records/bigints.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { SolanaContent, SolanaDraft } from '../../core/records/solana.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import type { CallOptions } from '../rpc/call-router.js';
import type { Denials } from '../rpc/denials.js';
import { judgedTwice } from '../rpc/judged-twice.js';
import type { Rpc } from '../rpc/rpc.js';
import { systemProgram } from './address.js';
import { namedFeeLamports } from './compute-budget.js';
import { compileInstructions } from './instructions.js';
import type { Lifetimes } from './lifetime.js';
import type { Market } from './market.js';
import { outflowLamports } from './outflow.js';
import { disallowedAmong, restrictsAccounts, whyMessageForbidden } from './policy.js';
import { type Pricing, priceAttempt, type RecentMessages } from './price-attempt.js';
import { questions } from './questions.js';
import { atReachedSlot } from './reached-slot.js';
import { mustStay, readTransaction } from './read-transaction.js';
import { costsOf, judge } from './rules.js';
import { patientRefusal } from './verdict.js';
import { base64From, type Message, messageBytes, type TableLookup } from './wire.js';

export interface DraftDeps {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  readonly lifetimes: Lifetimes;
  readonly market: Market;
  readonly recent: RecentMessages;
  readonly denials: Denials;
  /** Whether nodes have reached the newest slot: see `atReachedSlot`. */
  readonly unreached: Denials;
}

/**
 * Binds an attempt to a blockhash, simulates and prices it, and checks funds and the policies for accounts in lookup tables. If the relayer
 * is the only signer, the attempt gets the newest blockhash and a compute budget; if others have signed, it stays unchanged. Throws
 * `NODE_UNAVAILABLE`.
 */
export async function draftAttempt(
  deps: DraftDeps,
  { relayer, approvals = 0, hasWaited = false }: Pick<DraftRequest, 'relayer' | 'approvals' | 'hasWaited'>,
  content: SolanaContent,
): Promise<SolanaDraft | Refusal> {
  const { message: base, signatures, isFixed } = baseOf(content, relayer.address);
  const forbidden = refusalOf(base, relayer, approvals);
  if (forbidden !== null) return forbidden;
  const lifetime = isFixed ? await deps.lifetimes.given(base.blockhash) : await deps.lifetimes.fresh();
  if ('refused' in lifetime) return lifetime;
  const bound: Message = { ...base, blockhash: lifetime.blockhash };
  const outflow = outflowLamports(bound, relayer.address);
  // Funds first, because each program words insufficient funds differently.
  const unpaid = await fundsRefusal(deps, relayer, outflow + namedFeeLamports(bound));
  if (unpaid !== null) return unpaid;
  const key = createHash('sha256').update(messageBytes(base)).digest('base64');
  const { rules } = onNetwork('solana', relayer.policies);
  const costs = costsOf(base, { rules, stored: content.maxCost, approvals });
  const pricing = { message: bound, isFixed, relayer, costs, hasWaited, isDeniedLong: () => deps.denials.isLong(key) };
  const priced = await atReachedSlot(deps.unreached, lifetime.since.slot, async (slot) => {
    const at = { ...pricing, slot };
    return (await accountsRefusal(deps.rpc, at)) ?? (await priceAttempt(deps.rpc, deps.market, deps.recent, at));
  });
  // A later transaction with the same content gets the whole time again.
  if (!('refused' in priced) || priced.lasting) deps.denials.forget(key);
  if ('refused' in priced) return priced;
  const { message, feeLamports, balanceAfter, spentLamports } = priced;
  // Programs can spend the account's lamports, too: as rent of accounts that they create.
  const costLamports = feeLamports + (spentLamports !== null && spentLamports > outflow ? spentLamports : outflow);
  const { blockhash: recentBlockhash, lastValidBlockHeight, since } = lifetime;
  const draft: SolanaDraft = {
    network: 'solana',
    message: base64From(messageBytes(message)),
    signatures,
    recentBlockhash,
    lastValidBlockHeight,
    sinceSlot: since.slot,
    sinceHeight: since.height,
    feeLamports,
    costLamports,
  };
  return (await fundsRefusal(deps, relayer, costLamports)) ?? remainderRefusal(relayer, balanceAfter) ?? draft;
}

/** See `Chain.whyForbidden`. */
export function whyForbidden(content: SolanaContent, relayer: Relayer, approvals: number): Refusal | null {
  return refusalOf(baseOf(content, relayer.address).message, relayer, approvals);
}

function refusalOf(message: Message, relayer: Relayer, approvals: number): Refusal | null {
  const problem = whyMessageForbidden(message, relayer);
  if (problem !== null) return forbiddenBecause(`the transaction ${problem}`);
  const { rules } = onNetwork('solana', relayer.policies);
  const judgement = rules === null ? null : judge(rules, message, approvals > 0 ? 'approved' : null);
  return forbiddenByRules(judgement, approvals);
}

type Base = Pick<SolanaDraft, 'signatures'> & Pick<Pricing, 'message' | 'isFixed'>;

/** The message of content, and the signatures that it has. */
export function baseOf({ transaction, instructions }: SolanaContent, relayer: string): Base {
  if (transaction === null) return { message: compileInstructions(relayer, instructions), signatures: [null], isFixed: false };
  const wire = readTransaction(transaction);
  const signatures = wire.signatures.map((signature, index) => (index === 0 ? null : base64From(signature)));
  return { message: wire.message, signatures, isFixed: mustStay(wire) };
}

async function fundsRefusal({ rpc, memory }: DraftDeps, relayer: Relayer, costLamports: bigint): Promise<Refusal | null> {
  const { minBalanceLamports } = onNetwork('solana', relayer.policies);
  const call = questions.balance(relayer.address, 'processed');
  const neededLamports = costLamports + minBalanceLamports;
  if ((await memory.recall(`balance of ${relayer.address}`, () => rpc.ask(call))) >= neededLamports) return null;
  // The account may just have been funded, and a node may show less than there is: the highest of several balances decides, read once more
  // per block, for all drafts together.
  const highest = async (): Promise<bigint> => (await rpc.opinions(call)).reduce((one, other) => max(one, other));
  const balanceLamports = await memory.recall(`second look at the balance of ${relayer.address}`, highest);
  if (balanceLamports >= neededLamports) return null;
  const rest = minBalanceLamports === 0n ? '' : `, and ${minBalanceLamports} lamports must remain`;
  const sentence = `insufficient balance: the account has ${balanceLamports} lamports, the transaction may cost ${costLamports} lamports${rest}`;
  return { refused: 'insufficient_funds', sentence, lasting: false };
}

/** The simulation shows more than the costs: what transactions take that were sent just before. */
function remainderRefusal(relayer: Relayer, balanceAfter: bigint | null): Refusal | null {
  const { minBalanceLamports } = onNetwork('solana', relayer.policies);
  if (balanceAfter === null || balanceAfter >= minBalanceLamports) return null;
  const sentence = `insufficient balance: the transaction would leave ${balanceAfter} lamports, and ${minBalanceLamports} lamports must remain`;
  return { refused: 'insufficient_funds', sentence, lasting: false };
}

async function accountsRefusal(rpc: Rpc, pricing: Pricing): Promise<Refusal | null> {
  const { relayer, message, slot } = pricing;
  const { tables } = message;
  const policies = onNetwork('solana', relayer.policies);
  if (tables.length === 0 || !restrictsAccounts(policies)) return null;
  const lookUp = async (options: CallOptions): Promise<{ readonly isAllowed: true } | Refusal> => {
    const found = await lookUpAccounts(rpc, tables, slot, options);
    if ('problem' in found) return patientRefusal(`the transaction ${found.problem}`, pricing);
    const problem = disallowedAmong(found, relayer.address, policies);
    return problem === null ? { isAllowed: true } : { refused: 'not_allowed', sentence: `the transaction ${problem}`, lasting: true };
  };
  const judged = await judgedTwice(rpc, lookUp, (first) => first);
  return 'refused' in judged ? judged : null;
}

/**
 * See `Chain.whyUnusable`: only an account of the system program without data can pay fees and send lamports. Throws `NODE_UNAVAILABLE`.
 */
export async function whyUnusable(rpc: Rpc, account: string, first: 'head' | 'another'): Promise<string | null> {
  const state = await rpc.ask(questions.account(account), { first });
  if (state === null || (state.owner === systemProgram && state.dataBytes === 0)) return null;
  return `the account cannot pay fees: it belongs to the program ${state.owner} and has ${state.dataBytes} bytes of data; give the relayer another signer`;
}

const keyBytes = 32;

/**
 * Reads the accounts that a v0 message loads from lookup tables, which only ever grow; `problem` if an account does not exist. The node
 * must have reached `slot`. Throws `NODE_UNAVAILABLE`.
 */
async function lookUpAccounts(
  rpc: Rpc,
  tables: readonly TableLookup[],
  slot: bigint,
  options: CallOptions = {},
): Promise<readonly string[] | { readonly problem: string }> {
  const keys = tables.map(({ table }) => table);
  const contents = await rpc.ask(questions.lookupTables(keys, slot), options);
  const found: string[] = [];
  for (const [at, { table, writable, readonly }] of tables.entries()) {
    const addresses = contents[at];
    if (addresses === undefined || addresses === null) return { problem: `uses ${table}, which is not an address lookup table` };
    for (const index of [...writable, ...readonly]) {
      const key = addresses.subarray(index * keyBytes, (index + 1) * keyBytes);
      if (key.length < keyBytes) return { problem: `uses index ${index} of the address lookup table ${table}, which has no such entry` };
      found.push(getAddressDecoder().decode(key));
    }
  }
  return found;
}
