import { xdr } from '@stellar/stellar-sdk';
import { accountOf } from '../frame.js';
import { accountFlag, startingSequence } from '../state.js';
import { done, failed, type OperationRules } from './operation.js';
import { accountEntry, release, subEntry } from './reserves.js';

const { AccountMergeResult: Result } = xdr;
const resultOf = (result: xdr.AccountMergeResult) => xdr.OperationResultTr.accountMerge(result);

/** MergeOpFrame.cpp: moves the balance and removes the account. */
export const accountMerge: OperationRules = {
  level: 'high',

  check(body, source) {
    return accountOf(xdr.expectUnionVariant(body, 'accountMerge').destination) === source
      ? failed(resultOf(Result.accountMergeMalformed()))
      : null;
  },

  apply(body, context) {
    const { state, header, source } = context;
    const destination = accountOf(xdr.expectUnionVariant(body, 'accountMerge').destination);
    const to = state.accounts.get(destination);
    if (to === undefined) return failed(resultOf(Result.accountMergeNoAccount()));
    const from = state.accounts.get(source);
    if (from === undefined) throw new Error('the source was there');
    if ((from.flags & accountFlag.immutable) !== 0) return failed(resultOf(Result.accountMergeImmutableSet()));
    if (from.subEntries !== from.signers.length) return failed(resultOf(Result.accountMergeHasSubEntries()));
    // Otherwise the account could be created again with a number that it has used.
    if (from.sequence >= startingSequence(header.sequence)) return failed(resultOf(Result.accountMergeSeqnumTooFar()));
    if (from.sponsoring > 0 || [...state.futureSponsors.values()].includes(source)) return failed(resultOf(Result.accountMergeIsSponsor()));
    for (const { key } of from.signers) release(context, subEntry(`signer ${key} of ${source}`, source));
    release(context, accountEntry(source));
    state.accounts.delete(source);
    // It may have been a sponsor.
    const receiver = state.accounts.get(destination) ?? to;
    state.accounts.set(destination, {
      ...receiver,
      balanceStroops: receiver.balanceStroops + from.balanceStroops,
      modifiedAt: header.sequence,
    });
    return done(resultOf(Result.accountMergeSuccess(from.balanceStroops)));
  },
};
