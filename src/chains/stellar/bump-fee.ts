import { xdr } from '@stellar/stellar-sdk';
import type { FeeBumpRequest, Refusal } from '../../core/ports/chain.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import type { StellarBid, StellarDraft } from '../../core/transaction/stellar.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import type { Broadcaster } from './broadcast.js';
import { envelopeFromV1 } from './envelope.js';
import { inclusionFeeOf, leastBumpStroops, leastReplacementStroops } from './fee-rules.js';
import type { Market } from './market.js';
import { priceAttempt } from './price-attempt.js';

/** What raising works with. */
export interface FeeBumpDeps {
  readonly market: Market;
  readonly broadcaster: Broadcaster;
}

/**
 * The live version once more, in a fee bump that bids more: what is inside stays as it was signed. A version that a node refused for its fee, and none has
 * taken, needs not be outbid: what the node demanded of it will do. Throws `NODE_UNAVAILABLE`.
 */
export async function bumpFee(
  { market, broadcaster }: FeeBumpDeps,
  { relayer, content, live, outbids }: FeeBumpRequest,
): Promise<StellarDraft | Refusal> {
  const wanted = onNetwork('stellar', content);
  const fields = onNetwork('stellar', live.fields);
  const envelope = innerOf(live);
  const inner = envelopeFromV1(envelope);
  const operationCount = inner.operations.length + 1;
  const { resourceFeeStroops } = fields.bid;
  const bid = priceAttempt({
    policies: onNetwork('stellar', relayer.policies),
    maxFeeStroops: wanted.maxFeeStroops,
    resourceFeeStroops,
    operationCount,
    leastStroops: greatest([
      leastBumpStroops(inner.feeStroops - resourceFeeStroops, inner.operations.length),
      ...outbids.map((attempt) => leastOver(attempt, broadcaster, operationCount)),
    ]),
    bidPerOperationStroops: await market.bidPerOperationStroops(resourceFeeStroops > 0n),
    // A filler was let past the ceiling once, when it was made: raised tenfold again and again it would eat the account.
    isFiller: false,
  });
  if ('refused' in bid) return bid;
  const { sourceAccount, sequence, maxTimeS, ledger, costStroops } = fields;
  return {
    network: 'stellar',
    inner: { kind: 'signed', envelope: xdr.TransactionEnvelope.envelopeTypeTx(envelope).toXDR('base64') },
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
  const envelope = xdr.TransactionEnvelope.fromXDR(raw, 'base64');
  return envelope.switch().name === 'envelopeTypeTxFeeBump' ? envelope.feeBump().tx().innerTx().v1() : envelope.v1();
}

/** The least inclusion fee of a fee bump beside an earlier version. */
function leastOver({ raw, fields }: Attempt, broadcaster: Broadcaster, operationCount: number): bigint {
  const { bid } = onNetwork('stellar', fields);
  const refusal = broadcaster.refusalOf(raw);
  if (refusal === null) return leastReplacementStroops([bid], operationCount);
  if (refusal.demandedFeeStroops === null) return 0n;
  const asked: StellarBid = { ...bid, feeStroops: refusal.demandedFeeStroops };
  const count = BigInt(bid.operationCount);
  return (inclusionFeeOf(asked) * BigInt(operationCount) + count - 1n) / count;
}

function greatest(amounts: readonly bigint[]): bigint {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), 0n);
}
