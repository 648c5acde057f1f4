import { xdr } from '@stellar/stellar-sdk';
import { meetsMarket } from '../../core/fees/escalation.js';
import type { FeeBumpRequest, Refusal } from '../../core/ports/chain/drafts.js';
import { max } from '../../core/records/bigints.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { StellarBid, StellarDraft } from '../../core/records/stellar.js';
import type { Attempt } from '../../core/records/transaction.js';
import type { Broadcaster } from './broadcast.js';
import { envelopeFromV1 } from './envelope.js';
import { ceilDivide, inclusionFeeOf, minBumpStroops, minReplacementStroops } from './fee-rules.js';
import type { Market } from './market.js';
import { priceWithin } from './price-attempt.js';
import { costsOf, fillerCosts } from './rules.js';

/**
 * Drafts a fee bump of the live attempt: a fee-bump envelope with a higher bid around the inner transaction as signed. Refuses if the bid
 * meets the market already, unless a node demands more. An attempt that a node refused for its fee, and that no node accepted, need not be
 * outbid: the fee that the node demanded is enough. Throws `NODE_UNAVAILABLE`.
 */
export async function bumpFee(
  { market, broadcaster }: { readonly market: Market; readonly broadcaster: Broadcaster },
  { relayer, content, live, outbids, reason, approvals = 0 }: FeeBumpRequest,
): Promise<StellarDraft | Refusal> {
  const wanted = onNetwork('stellar', content);
  const fields = onNetwork('stellar', live.fields);
  const envelope = innerOf(live);
  const inner = envelopeFromV1(envelope);
  const operationCount = inner.operations.length + 1;
  const { resourceFeeStroops } = fields.bid;
  const bidPerOperationStroops = await market.bidPerOperationStroops(resourceFeeStroops > 0n, reason === 'waited' ? 'higher' : 'lower');
  // Nodes demand ten times the earlier bid. If that one is below the market, the next one is below ten times the market.
  if (reason === 'waited' && inclusionFeeOf(fields.bid) >= bidPerOperationStroops * BigInt(fields.bid.operationCount)) return meetsMarket;
  const isContent = live.purpose === 'content';
  const bid = priceWithin({
    costs: isContent ? costsOf(wanted, relayer, approvals) : fillerCosts(wanted, relayer),
    mustLeaveRoom: isContent && wanted.kind === 'operations',
    isReplacement: true,
    policies: onNetwork('stellar', relayer.policies),
    maxFeeStroops: wanted.maxFeeStroops,
    resourceFeeStroops,
    operationCount,
    minStroops: max(
      minBumpStroops(inner.feeStroops - resourceFeeStroops, inner.operations.length, market.rules().baseFeeStroops),
      ...outbids.map((attempt) => minOver(attempt, broadcaster, operationCount)),
    ),
    bidPerOperationStroops,
    // A filler passed the price cap when it was drafted. Repeated tenfold fee bumps beyond the cap would drain the account.
    isFiller: false,
    isMinimumDoubted: market.isBaseFeeRaised(),
    takesSlot: false,
  });
  if ('refused' in bid) return bid;
  const { sourceAccount, sequence, maxTimeS, ledger, costStroops } = fields;
  return {
    network: 'stellar',
    inner: { kind: 'signed', envelope: xdr.TransactionEnvelope.envelopeTypeTx(envelope).toXdr('base64') },
    bumpFeeStroops: bid.feeStroops,
    bid,
    sourceAccount,
    sequence,
    maxTimeS,
    ledger,
    costStroops: costStroops - fields.bid.feeStroops + bid.feeStroops,
  };
}

function innerOf({ raw }: Attempt): xdr.TransactionV1Envelope {
  const envelope = xdr.TransactionEnvelope.fromXdr(raw, 'base64');
  return envelope.type === 'envelopeTypeTxFeeBump' ? envelope.feeBump.tx.innerTx.v1 : xdr.expectUnionVariant(envelope, 'envelopeTypeTx').v1;
}

/** Returns the minimum inclusion fee of a fee-bump envelope that outbids an earlier attempt. */
function minOver({ raw, fields }: Attempt, broadcaster: Broadcaster, operationCount: number): bigint {
  const { bid } = onNetwork('stellar', fields);
  const refusal = broadcaster.refusalOf(raw);
  if (refusal === null) return minReplacementStroops([bid], operationCount);
  if (refusal.demandedFeeStroops === null) return 0n;
  const demanded: StellarBid = { ...bid, feeStroops: refusal.demandedFeeStroops };
  return ceilDivide(inclusionFeeOf(demanded) * BigInt(operationCount), BigInt(bid.operationCount));
}
