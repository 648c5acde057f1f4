import { failureOf, type Refusal } from '../../core/ports/chain/drafts.js';
import type { QuotedFailure, SolanaQuote } from '../../core/ports/chain/quote.js';
import type { QuoteRequest } from '../../core/ports/chain/requests.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { SolanaContent, SolanaDraft } from '../../core/records/solana.js';
import type { DurationClock } from '../../core/work/clock.js';
import { nodeText } from '../rpc/answer.js';
import { createDenials } from '../rpc/denials.js';
import { namedFeeLamports } from './compute-budget.js';
import { baseOf, type DraftDeps, draftAttempt, whyForbidden } from './draft.js';
import { failureSentence } from './failure.js';
import { outflowLamports } from './outflow.js';
import { createRecentMessages } from './price-attempt.js';
import { questions } from './questions.js';
import { atReachedSlot } from './reached-slot.js';
import type { SimulationAnswer } from './read-simulation.js';
import { deniedForMs } from './verdict.js';
import { base64From, unsignedTransactionBytes } from './wire.js';

/** The runtime itself cuts logs at 10 KB. */
const maxLines = 256;

/** Quotes a transaction by the rules of `draftAttempt`. */
export async function quoteAttempt(
  drafting: DraftDeps,
  clock: DurationClock,
  { relayer, unrestricted, content, part }: QuoteRequest,
): Promise<SolanaQuote> {
  const wanted = onNetwork('solana', content);
  // A message that is only quoted makes no later one a duplicate, and says nothing about how long nodes deny a part.
  const deps: DraftDeps = { ...drafting, recent: createRecentMessages(), denials: createDenials(clock, deniedForMs) };
  // What is forbidden at once is known; the rest of the quote is about what would happen without that.
  const drafted = whyForbidden(wanted, relayer, 0) === null ? relayer : unrestricted;
  const [draft, simulated] = await Promise.all([
    part('the fee', () => draftAttempt(deps, { relayer: drafted }, wanted)),
    part('the simulation', () => simulate(deps, relayer.address, wanted)),
  ]);
  const priced = draft !== null && !('refused' in draft) ? draft : null;
  return {
    network: 'solana',
    failure: verdictOf(draft, simulated),
    maximumCost: priced?.costLamports ?? leastCost(draft, relayer.address, wanted),
    feeLamports: priced?.feeLamports ?? null,
    computeUnits: simulated?.unitsConsumed ?? null,
    logs: simulated?.logs.slice(0, maxLines).map(nodeText) ?? [],
  };
}

/** Simulates the message as it is, without a compute budget. Throws `NODE_UNAVAILABLE`; null: its blockhash is refused. */
async function simulate(
  { rpc, lifetimes, unreached }: DraftDeps,
  account: string,
  content: SolanaContent,
): Promise<SimulationAnswer | null> {
  const { message, isFixed } = baseOf(content, account);
  const lifetime = isFixed ? await lifetimes.given(message.blockhash) : await lifetimes.fresh();
  if ('refused' in lifetime) return null;
  const bytes = unsignedTransactionBytes({ ...message, blockhash: lifetime.blockhash });
  return atReachedSlot(unreached, lifetime.since.slot, (slot) =>
    rpc.ask(questions.simulation(base64From(bytes), slot, account), { first: 'head' }),
  );
}

/** A draft is refused for the balance before its fee is known. */
function leastCost(draft: SolanaDraft | Refusal | null, account: string, content: SolanaContent): bigint | null {
  if (draft === null || !('refused' in draft) || draft.refused !== 'insufficient_funds') return null;
  const { message } = baseOf(content, account);
  return outflowLamports(message, account) + namedFeeLamports(message);
}

function verdictOf(draft: SolanaDraft | Refusal | null, simulated: SimulationAnswer | null): QuotedFailure | null | undefined {
  const error = simulated?.error ?? null;
  const revertReason = error === null ? null : failureSentence(error, simulated?.logs ?? []);
  if (draft === null) {
    if (simulated === null) return undefined;
    return error === null
      ? null
      : { reason: 'would_revert', sentence: `the simulation failed: ${revertReason}`, revertReason, revertData: null };
  }
  if (!('refused' in draft)) return null;
  return { reason: failureOf[draft.refused], sentence: draft.sentence, revertReason, revertData: null };
}
