import { hash, xdr } from '@stellar/stellar-sdk';
import { runHostFunction } from '../soroban/host.js';
import { ArchivedError, HostError } from '../soroban/host-error.js';
import { refundableStroops } from '../soroban/resource-fee.js';
import { done, failed, type OperationRules } from './operation.js';

const { InvokeHostFunctionResult: Result } = xdr;
const resultOf = (result: xdr.InvokeHostFunctionResult) => xdr.OperationResultTr.invokeHostFunction(result);

/** InvokeHostFunctionOpFrame.cpp: runs the call within the declared resources, and fails if it uses more. */
export const invokeHostFunction: OperationRules = {
  level: 'medium',

  check: () => null,

  apply(body, { state, header, source, networkId, soroban }) {
    if (soroban === null) return failed(resultOf(Result.invokeHostFunctionMalformed()));
    const resources = soroban.data.resources;
    const operation = xdr.expectUnionVariant(body, 'invokeHostFunction').invokeHostFunctionOp;
    try {
      const answer = runHostFunction(operation.hostFunction, {
        state,
        source,
        networkId,
        ledger: header.sequence,
        footprint: resources.footprint,
        restores: soroban.data.ext.type === 'resourceExt' ? soroban.data.ext.resourceExt.archivedSorobanEntries : [],
        auth: operation.auth,
      });
      if (answer.instructions > resources.instructions || answer.writtenBytes > resources.writeBytes) {
        return failed(resultOf(Result.invokeHostFunctionResourceLimitExceeded()));
      }
      const usedStroops = refundableStroops(answer.writtenBytes);
      if (soroban.data.resourceFee - soroban.nonRefundableStroops < usedStroops) {
        return failed(resultOf(Result.invokeHostFunctionInsufficientRefundableFee()));
      }
      const { returnValue } = answer;
      const preimage = new xdr.InvokeHostFunctionSuccessPreImage({ returnValue, events: [] });
      return {
        ...done(resultOf(Result.invokeHostFunctionSuccess(hash(preimage.toXdr())))),
        host: { returnValue, refundableStroops: usedStroops },
      };
    } catch (error) {
      if (error instanceof ArchivedError) return failed(resultOf(Result.invokeHostFunctionEntryArchived()));
      if (error instanceof HostError) return failed(resultOf(Result.invokeHostFunctionTrapped()));
      throw error;
    }
  },
};
