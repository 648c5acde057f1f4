import { StrKey, xdr } from '@stellar/stellar-sdk';
import { availableStroops, newAccount } from '../state.js';
import { done, failed, type OperationRules } from './operation.js';

const { CreateAccountResult: Result } = xdr;
const resultOf = (result: xdr.CreateAccountResult) => xdr.OperationResultTr.createAccount(result);

/**
 * CreateAccountOpFrame.cpp. A starting balance of 0 requires sponsored reserves (CAP-33), which are not modelled, so it is below the
 * reserve.
 */
export const createAccount: OperationRules = {
  level: 'medium',

  check(body, source) {
    const { destination, startingStroops } = partsOf(body);
    return startingStroops < 0n || destination === source ? failed(resultOf(Result.createAccountMalformed())) : null;
  },

  apply(body, { state, header, source }) {
    const { destination, startingStroops } = partsOf(body);
    if (state.accounts.has(destination)) return failed(resultOf(Result.createAccountAlreadyExist()));
    if (startingStroops < 2n * header.baseReserveStroops) return failed(resultOf(Result.createAccountLowReserve()));
    const from = state.accounts.get(source);
    if (from === undefined) throw new Error('the source was there');
    if (availableStroops(from, header) < startingStroops) return failed(resultOf(Result.createAccountUnderfunded()));
    state.accounts.set(source, { ...from, balanceStroops: from.balanceStroops - startingStroops, modifiedAt: header.sequence });
    state.accounts.set(destination, newAccount(destination, startingStroops, header));
    return done(resultOf(Result.createAccountSuccess()));
  },
};

function partsOf(body: xdr.OperationBody) {
  const operation = xdr.expectUnionVariant(body, 'createAccount').createAccountOp;
  return {
    destination: StrKey.encodeEd25519PublicKey(operation.destination.ed25519.value),
    startingStroops: operation.startingBalance,
  };
}
