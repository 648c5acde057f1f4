import type { xdr } from '@stellar/stellar-sdk';
import { accountMerge } from './account-merge.js';
import { bumpSequence } from './bump-sequence.js';
import { changeTrust } from './change-trust.js';
import { createAccount } from './create-account.js';
import { invokeHostFunction } from './invoke-host-function.js';
import { manageData } from './manage-data.js';
import type { OperationRules } from './operation.js';
import { payment } from './payment.js';
import { setOptions } from './set-options.js';

const rules: Readonly<Record<string, OperationRules>> = {
  accountMerge,
  bumpSequence,
  changeTrust,
  manageData,
  createAccount,
  invokeHostFunction,
  payment,
  setOptions,
};

/** Returns the rules of an operation's kind; undefined if it is not modelled (opNOT_SUPPORTED). */
export function rulesOf(operation: xdr.Operation): OperationRules | undefined {
  return rules[operation.body.type];
}
