import { StrKey, xdr } from '@stellar/stellar-sdk';
import { availableStroops, newAccount } from '../state.js';
import { done, failed, type OperationRules } from './operation.js';
import { accountEntry, reserve, sponsorOf } from './reserves.js';

const { CreateAccountResult: Result } = xdr;
const resultOf = (result: xdr.CreateAccountResult) => xdr.OperationResultTr.createAccount(result);

/** CreateAccountOpFrame.cpp. A sponsored account (CAP-33) can start with nothing. */
export const createAccount: OperationRules = {
  level: 'medium',

  check(body, source) {
    const { destination, startingStroops } = partsOf(body);
    return startingStroops < 0n || destination === source ? failed(resultOf(Result.createAccountMalformed())) : null;
  },

  apply(body, context) {
    const { state, header, source } = context;
    const { destination, startingStroops } = partsOf(body);
    if (state.accounts.has(destination)) return failed(resultOf(Result.createAccountAlreadyExist()));
    const sponsor = sponsorOf(context, destination);
    if (sponsor === null && startingStroops < 2n * header.baseReserveStroops) return failed(resultOf(Result.createAccountLowReserve()));
    const from = state.accounts.get(source);
    if (from === undefined) throw new Error('the source was there');
    state.accounts.set(destination, newAccount(destination, startingStroops, header));
    if (!reserve(context, accountEntry(destination), sponsor)) return failed(resultOf(Result.createAccountLowReserve()));
    const payer = state.accounts.get(source) ?? from;
    if (availableStroops(payer, header) < startingStroops) return failed(resultOf(Result.createAccountUnderfunded()));
    state.accounts.set(source, { ...payer, balanceStroops: payer.balanceStroops - startingStroops, modifiedAt: header.sequence });
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
