import { xdr } from '@stellar/stellar-sdk';
import { refundableStroops } from '../soroban/resource-fee.js';
import { lifeLedgers, restored } from '../soroban/storage.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';

const { ExtendFootprintTtlResult: Extended, RestoreFootprintResult: Restored } = xdr;
const extendedOf = (result: xdr.ExtendFootprintTtlResult) => xdr.OperationResultTr.extendFootprintTtl(result);
const restoredOf = (result: xdr.RestoreFootprintResult) => xdr.OperationResultTr.restoreFootprint(result);

/** ExtendFootprintTTLOpFrame.cpp: entries of the read-only footprint that are alive live at least so long. */
export const extendFootprintTtl: OperationRules = {
  level: 'low',

  check(body) {
    const { extendTo } = xdr.expectUnionVariant(body, 'extendFootprintTtl').extendFootprintTtlOp;
    return extendTo > lifeLedgers ? failed(extendedOf(Extended.extendFootprintTtlMalformed())) : null;
  },

  apply(body, { state, header, soroban }) {
    if (soroban === null || soroban.data.resources.footprint.readWrite.length > 0)
      return failed(extendedOf(Extended.extendFootprintTtlMalformed()));
    const until = header.sequence + xdr.expectUnionVariant(body, 'extendFootprintTtl').extendFootprintTtlOp.extendTo;
    let bytes = 0;
    for (const key of soroban.data.resources.footprint.readOnly) {
      const entry = state.contracts.get(key.toXdr('base64'));
      if (entry === undefined || entry.liveUntil < header.sequence || entry.liveUntil >= until) continue;
      bytes += entry.data.toXdr().length;
      state.contracts.set(key.toXdr('base64'), { ...entry, liveUntil: until });
    }
    const used = refundableStroops(bytes);
    if (!pays(soroban, used)) return failed(extendedOf(Extended.extendFootprintTtlInsufficientRefundableFee()));
    return { ...done(extendedOf(Extended.extendFootprintTtlSuccess())), host: { returnValue: null, refundableStroops: used } };
  },
};

/** RestoreFootprintOpFrame.cpp: archived entries of the read-write footprint live again. */
export const restoreFootprint: OperationRules = {
  level: 'low',
  check: () => null,

  apply(_body, { state, header, soroban }) {
    if (soroban === null || soroban.data.resources.footprint.readOnly.length > 0)
      return failed(restoredOf(Restored.restoreFootprintMalformed()));
    let bytes = 0;
    for (const key of soroban.data.resources.footprint.readWrite) {
      const entry = state.contracts.get(key.toXdr('base64'));
      if (entry === undefined || entry.liveUntil >= header.sequence) continue;
      bytes += entry.data.toXdr().length;
      state.contracts.set(key.toXdr('base64'), restored(entry, header.sequence));
    }
    if (bytes > soroban.data.resources.writeBytes) return failed(restoredOf(Restored.restoreFootprintResourceLimitExceeded()));
    const used = refundableStroops(bytes);
    if (!pays(soroban, used)) return failed(restoredOf(Restored.restoreFootprintInsufficientRefundableFee()));
    return { ...done(restoredOf(Restored.restoreFootprintSuccess())), host: { returnValue: null, refundableStroops: used } };
  },
};

function pays({ data, nonRefundableStroops }: NonNullable<OperationContext['soroban']>, used: bigint): boolean {
  return data.resourceFee - nonRefundableStroops >= used;
}
