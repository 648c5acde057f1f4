import type { DraftRequest, Refusal } from '../../core/ports/chain.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import type { StellarBid, StellarDraft } from '../../core/transaction/stellar.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import { readAccount } from './account.js';
import { draftFeeBump } from './draft-fee-bump.js';
import { draftOwn } from './draft-own.js';
import { type DraftDeps, type Drafting, noAccount } from './drafting.js';
import { fillerOf } from './filler.js';
import { getTransactionCall } from './get-transaction.js';

/**
 * Simulates, prices and checks funds: a version that can be signed, or why there is none. The first version in a slot is a plain transaction; one that must
 * outbid others is a fee bump, which is all that nodes take in their place. Throws `NODE_UNAVAILABLE`.
 */
export async function draftAttempt(deps: DraftDeps, request: DraftRequest): Promise<StellarDraft | Refusal> {
  const { relayer, validUntilMs } = request;
  const isFiller = request.content === 'filler';
  const content = request.content === 'filler' ? fillerOf(relayer.address) : onNetwork('stellar', request.content);
  const payer = await readAccount(deps.rpc, relayer.address);
  if (payer === null) return noAccount(relayer.address, deps.networkName);
  const drafting: Drafting = {
    ...deps,
    policies: onNetwork('stellar', relayer.policies),
    isFiller,
    payer,
    payerAddress: relayer.address,
    outbids: await livingBids(deps, request.outbids),
    validUntilMs,
    nextNonce: request.nextNonce ?? null,
  };
  const draft = content.kind === 'operations' ? await draftOwn(drafting, content) : await draftFeeBump(drafting, content);
  if ('refused' in draft) return draft;
  return fundsRefusal(drafting, draft.costStroops) ?? draft;
}

/** What nodes have refused, or thrown out because its time is over, needs not be outbid. */
async function livingBids({ rpc, networkId, broadcaster }: DraftDeps, attempts: readonly Attempt[]): Promise<readonly StellarBid[]> {
  const held = attempts.filter(({ raw }) => broadcaster.refusalOf(raw) === null);
  const versions = held.map(({ fields }) => onNetwork('stellar', fields));
  const [first] = held;
  if (first === undefined || versions.every(({ maxTimeS }) => maxTimeS === null)) return versions.map(({ bid }) => bid);
  const { method, params, read } = getTransactionCall(first.hash, networkId);
  const { latestCloseTimeS } = await rpc.ask(method, params, read, { first: 'head' });
  return versions.filter(({ maxTimeS }) => maxTimeS === null || latestCloseTimeS < maxTimeS).map(({ bid }) => bid);
}

/** A slot must come free even when the account is nearly empty. */
function fundsRefusal({ payer, policies, isFiller }: Drafting, costStroops: bigint): Refusal | null {
  const mustRemainStroops = isFiller ? 0n : policies.minBalanceStroops;
  const { balanceStroops, lockedStroops } = payer;
  if (balanceStroops - lockedStroops >= costStroops && balanceStroops - costStroops >= mustRemainStroops) return null;
  const rest = mustRemainStroops === 0n ? '' : `, and ${mustRemainStroops} must remain`;
  const sentence = `insufficient funds: the account has ${balanceStroops} stroops, of which ${lockedStroops} are reserved; the transaction may cost ${costStroops}${rest}`;
  return { refused: 'insufficient_funds', sentence, lasting: false };
}
