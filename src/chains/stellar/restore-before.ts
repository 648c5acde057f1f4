import { xdr } from '@stellar/stellar-sdk';
import type { Prerequisite } from '../../core/ports/chain/drafts.js';
import type { StellarPolicies } from '../../core/records/relayer.js';
import type { StellarOperationsContent } from '../../core/records/stellar.js';
import { feeLimitOf } from './price-attempt.js';
import type { Preamble } from './read-simulation.js';

/**
 * Returns the transaction that restores the archived entries of a contract call. The call's maximum fee limits both: each gets a part in
 * proportion to its resource fee.
 */
export function restoreBefore(
  call: StellarOperationsContent,
  { resourceFeeStroops }: Pick<Preamble, 'resourceFeeStroops'>,
  preamble: Preamble,
  policies: StellarPolicies,
): Prerequisite {
  const limitStroops = feeLimitOf({ policies, maxFeeStroops: call.maxFeeStroops });
  const ofRestore = preamble.resourceFeeStroops + 1n;
  const restoreStroops = (limitStroops * ofRestore) / (ofRestore + resourceFeeStroops + 1n);
  const body = xdr.OperationBody.restoreFootprint(new xdr.RestoreFootprintOp({ ext: xdr.ExtensionPoint.v0() }));
  return {
    content: {
      ...call,
      operations: [new xdr.Operation({ sourceAccount: null, body }).toXdr('base64')],
      auth: 'given',
      sorobanData: preamble.sorobanData,
      maxFeeStroops: restoreStroops,
    },
    does: 'restores archived ledger entries that it uses',
    sent: call.restoredBy ?? null,
    neededBy: (id) => ({ ...call, maxFeeStroops: limitStroops - restoreStroops, restoredBy: id }),
  };
}
