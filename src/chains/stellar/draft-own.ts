import { xdr } from '@stellar/stellar-sdk';
import type { Refusal } from '../../core/ports/chain.js';
import type { StellarDraft, StellarOperationsContent } from '../../core/transaction/stellar.js';
import { isContractOperation } from './contract-operations.js';
import type { Drafting } from './drafting.js';
import { baseFeeStroops, leastOutbiddingStroops } from './fee-rules.js';
import { nativeOutflowStroops } from './outflow.js';
import { priceAttempt } from './price-attempt.js';
import { simulate } from './simulate.js';

/** A transaction's own fee has 32 bits; that of a fee bump has more. */
const greatestOwnFeeStroops = 2n ** 32n - 1n;

/**
 * A transaction of the relayer's own account, or why there can be none: plain where nothing is to be outbid, else in a fee bump.
 * Throws `NODE_UNAVAILABLE`.
 */
export async function draftOwn(drafting: Drafting, content: StellarOperationsContent): Promise<StellarDraft | Refusal> {
  const { rpc, market, payer, outbids, isFiller, policies, nextNonce } = drafting;
  // Nobody could tell later by what it was used: an account begins with the number of its ledger.
  if (nextNonce !== null && payer.sequence >= nextNonce) {
    const sentence = `the account was made, or used by somebody else, just now: its sequence number is ${payer.sequence}`;
    return { refused: 'reverts', sentence, lasting: false };
  }
  // With a sequence number it would hold up all that comes behind it until then.
  if (content.minTimeS * 1000n > BigInt(Date.now())) {
    return { refused: 'reverts', sentence: `its time bounds begin at ${content.minTimeS}, in unix seconds`, lasting: false };
  }
  const isContract = content.operations.some((text) => isContractOperation(xdr.Operation.fromXDR(text, 'base64')));
  const [ready, bidPerOperationStroops] = await Promise.all([
    isContract ? simulate(rpc, content, payer.sequence + 1n) : null,
    market.bidPerOperationStroops(isContract),
  ]);
  if (ready !== null && 'refused' in ready) return ready;
  const resourceFeeStroops = ready?.resourceFeeStroops ?? 0n;
  const ownCount = content.operations.length;
  const ownLeastStroops = baseFeeStroops * BigInt(ownCount);
  const isBump = outbids.length > 0;
  const bid = priceAttempt({
    policies,
    maxFeeStroops: content.maxFeeStroops,
    resourceFeeStroops,
    operationCount: isBump ? ownCount + 1 : ownCount,
    leastStroops: isBump ? leastOutbiddingStroops(outbids, ownLeastStroops, ownCount) : ownLeastStroops,
    bidPerOperationStroops,
    isFiller,
  });
  if ('refused' in bid) return bid;
  const operations = ready === null ? content.operations : [ready.operation];
  // Inside a fee bump the least will do: nodes look at the outer bid.
  const ownFeeStroops = smaller(isBump ? ownLeastStroops + resourceFeeStroops : bid.feeStroops, greatestOwnFeeStroops);
  return {
    network: 'stellar',
    inner: {
      kind: 'own',
      operations,
      memo: content.memo,
      minTimeS: content.minTimeS,
      sorobanData: ready?.sorobanData ?? null,
      feeStroops: ownFeeStroops,
    },
    bumpFeeStroops: isBump ? bid.feeStroops : null,
    bid: isBump ? bid : { ...bid, feeStroops: ownFeeStroops },
    sourceAccount: content.sourceAccount,
    sequence: null,
    ledger: payer.ledger,
    maxTimeS: earliest(
      content.maxTimeS,
      isFiller || drafting.validUntilMs === null ? null : BigInt(Math.floor(drafting.validUntilMs / 1000)),
    ),
    costStroops: (isBump ? bid.feeStroops : ownFeeStroops) + nativeOutflowStroops(operations, drafting.payerAddress),
  };
}

function earliest(a: bigint | null, b: bigint | null): bigint | null {
  return a === null || b === null ? (a ?? b) : smaller(a, b);
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
