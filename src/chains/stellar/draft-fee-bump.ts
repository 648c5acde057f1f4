import type { Refusal } from '../../core/ports/chain.js';
import type { StellarDraft, StellarFeeBumpContent } from '../../core/transaction/stellar.js';
import { readAccount } from './account.js';
import { accountOf } from './address.js';
import { type DraftDeps, type Drafting, noAccount } from './drafting.js';
import { leastOutbiddingStroops } from './fee-rules.js';
import { priceAttempt } from './price-attempt.js';

/** A fee bump of an envelope that another account signed, or why there can be none. Throws `NODE_UNAVAILABLE`. */
export async function draftFeeBump(drafting: Drafting, content: StellarFeeBumpContent): Promise<StellarDraft | Refusal> {
  const late = await whyNeverDue(drafting, content);
  if (late !== null) return late;
  const { innerInclusionStroops, operationCount, resourceFeeStroops, maxFeeStroops } = content;
  const bid = priceAttempt({
    policies: drafting.policies,
    maxFeeStroops,
    resourceFeeStroops,
    operationCount: operationCount + 1,
    leastStroops: leastOutbiddingStroops(drafting.outbids, innerInclusionStroops, operationCount),
    bidPerOperationStroops: await drafting.market.bidPerOperationStroops(resourceFeeStroops > 0n),
    isFiller: false,
  });
  if ('refused' in bid) return bid;
  return {
    network: 'stellar',
    inner: { kind: 'signed', envelope: content.envelope },
    bumpFeeStroops: bid.feeStroops,
    bid,
    sourceAccount: content.sourceAccount,
    sequence: content.sequence,
    maxTimeS: content.maxTimeS,
    ledger: drafting.payer.ledger,
    costStroops: bid.feeStroops,
  };
}

/** Why a foreign envelope cannot land, now or ever; null: it can. */
async function whyNeverDue(
  { rpc, networkName }: DraftDeps,
  { sourceAccount, sequence, maxTimeS }: StellarFeeBumpContent,
): Promise<Refusal | null> {
  if (maxTimeS !== null && maxTimeS * 1000n <= BigInt(Date.now())) {
    return { refused: 'reverts', sentence: 'the time bounds of transaction_xdr have passed', lasting: true };
  }
  const address = accountOf(sourceAccount) ?? '';
  const account = await readAccount(rpc, address);
  if (account === null) return noAccount(address, networkName);
  if (account.sequence >= sequence) {
    const sentence = `sequence number ${sequence} of ${address} is used already: its account is at ${account.sequence}`;
    return { refused: 'reverts', sentence, lasting: true };
  }
  if (account.sequence + 1n === sequence) return null;
  const sentence = `sequence number ${sequence} of ${address} is not due yet: its account is at ${account.sequence}`;
  return { refused: 'reverts', sentence, lasting: false };
}
