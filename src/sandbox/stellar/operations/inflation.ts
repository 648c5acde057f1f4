import { xdr } from '@stellar/stellar-sdk';
import { failed, type OperationRules } from './operation.js';

/** InflationOpFrame.cpp: it has ended with protocol 12. */
export const inflation: OperationRules = {
  level: 'low',
  check: () => null,
  apply: () => failed(xdr.OperationResultTr.inflation(xdr.InflationResult.inflationNotTime())),
};
