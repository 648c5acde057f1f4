import type { Refusal } from '../../core/ports/chain.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import type { Relayer } from '../../core/relayer/relayer.js';
import type { SolanaContent, SolanaDraft } from '../../core/transaction/solana.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { atSlotFrom, integerFrom } from './answer.js';
import { namedFeeLamports } from './compute-budget.js';
import { compileInstructions } from './instructions.js';
import type { Lifetimes } from './lifetime.js';
import { lookUpAccounts } from './lookup-tables.js';
import { outflowLamports } from './outflow.js';
import { disallowedAmong, judgesAccounts } from './policy.js';
import { type MadeMessages, priceAttempt } from './price-attempt.js';
import { isFixed, readTransaction } from './read-transaction.js';
import { base64From, type Message, messageBytes } from './wire.js';

/** What drafting works with. */
export interface DraftDeps {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  readonly lifetimes: Lifetimes;
  readonly made: MadeMessages;
}

/**
 * Makes a version that can be signed, or tells why there is none: bound to a blockhash, simulated, priced, and checked for funds and for
 * what policies say of accounts behind tables. Where the relayer signs alone, the blockhash is the newest, and what the transaction does
 * not say of its compute budget is added. Where others have signed, it stays as they signed it. Throws `NODE_UNAVAILABLE`.
 */
export async function draftAttempt(deps: DraftDeps, relayer: Relayer, content: SolanaContent): Promise<SolanaDraft | Refusal> {
  const { message: base, signatures, fixed } = baseOf(content, relayer.address);
  const lifetime = fixed ? await deps.lifetimes.given(base.blockhash) : await deps.lifetimes.fresh();
  if ('refused' in lifetime) return lifetime;
  const bound: Message = { ...base, blockhash: lifetime.blockhash };
  const outflow = outflowLamports(bound, relayer.address);
  // Funds first, since programs refuse what the account cannot pay each in their own words.
  const unpaid = await fundsRefusal(deps, relayer, outflow + namedFeeLamports(bound));
  if (unpaid !== null) return unpaid;
  const disallowed = await accountsRefusal(deps.rpc, relayer, bound, lifetime.since.slot);
  if (disallowed !== null) return disallowed;
  const pricing = { message: bound, isFixed: fixed, slot: lifetime.since.slot, policies: onNetwork('solana', relayer.policies) };
  const priced = await priceAttempt(deps.rpc, deps.made, pricing);
  if ('refused' in priced) return priced;
  const { message, feeLamports } = priced;
  const costLamports = outflow + feeLamports;
  const { blockhash: recentBlockhash, lastValidBlockHeight, since } = lifetime;
  return (
    (await fundsRefusal(deps, relayer, costLamports)) ?? {
      network: 'solana',
      message: base64From(messageBytes(message)),
      signatures,
      recentBlockhash,
      lastValidBlockHeight,
      sinceSlot: since.slot,
      sinceHeight: since.height,
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
  const { minBalanceLamports } = onNetwork('solana', relayer.policies);
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
  const policies = onNetwork('solana', relayer.policies);
  if (tables.length === 0 || !judgesAccounts(policies)) return null;
  const found = await lookUpAccounts(rpc, tables, slot);
  const problem = 'problem' in found ? found.problem : disallowedAmong(found, relayer.address, policies);
  return problem === null ? null : { refused: 'reverts', sentence: `the transaction ${problem}`, lasting: true };
}

/** What an account holds, in lamports; 0 where there is none. Throws `NODE_UNAVAILABLE`. */
export function readBalance(rpc: Rpc, account: string, commitment: 'processed' | 'confirmed'): Promise<bigint> {
  const read = (answer: unknown): bigint => atSlotFrom(answer, 'balance', (value) => integerFrom(value, 'balance')).value;
  return rpc.ask('getBalance', [account, { commitment }], read, { first: 'head' });
}
