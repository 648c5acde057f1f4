import { xdr } from '@stellar/stellar-sdk';
import { dataKey } from '../state.js';
import { done, failed, type OperationRules } from './operation.js';
import { addSubEntry, removeSubEntry } from './reserves.js';

const { ManageDataResult: Result } = xdr;
const resultOf = (result: xdr.ManageDataResult) => xdr.OperationResultTr.manageData(result);

/** ManageDataOpFrame.cpp. A new entry needs a base reserve. */
export const manageData: OperationRules = {
  level: 'medium',

  check(body) {
    const name = String(xdr.expectUnionVariant(body, 'manageData').manageDataOp.dataName);
    const isValid = name.length > 0 && /^[\x20-\x7e]*$/.test(name);
    return isValid ? null : failed(resultOf(Result.manageDataInvalidName()));
  },

  apply(body, context) {
    const { state, header, source } = context;
    const operation = xdr.expectUnionVariant(body, 'manageData').manageDataOp;
    const key = dataKey(source, String(operation.dataName));
    const value = operation.dataValue;
    const isThere = state.data.has(key);
    if (value == null) {
      if (!isThere) return failed(resultOf(Result.manageDataNameNotFound()));
      state.data.delete(key);
      removeSubEntry(context, `data ${key}`, source);
      return done(resultOf(Result.manageDataSuccess()));
    }
    if (!isThere && !addSubEntry(context, `data ${key}`, source)) return failed(resultOf(Result.manageDataLowReserve()));
    state.data.set(key, { account: source, name: String(operation.dataName), value: value.value, modifiedAt: header.sequence });
    return done(resultOf(Result.manageDataSuccess()));
  },
};
