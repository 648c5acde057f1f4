import { xdr } from '@stellar/stellar-sdk';
import { done, failed, type OperationRules } from './operation.js';

const { BumpSequenceResult: Result } = xdr;
const resultOf = (result: xdr.BumpSequenceResult) => xdr.OperationResultTr.bumpSequence(result);

/** BumpSequenceOpFrame.cpp (CAP-1): a target not above the account's number succeeds without a change. */
export const bumpSequence: OperationRules = {
  level: 'low',

  check(body) {
    return xdr.expectUnionVariant(body, 'bumpSequence').bumpSequenceOp.bumpTo < 0n ? failed(resultOf(Result.bumpSequenceBadSeq())) : null;
  },

  apply(body, { state, header, source }) {
    const account = state.accounts.get(source);
    if (account === undefined) throw new Error('the source was there');
    const target = xdr.expectUnionVariant(body, 'bumpSequence').bumpSequenceOp.bumpTo;
    if (target > account.sequence) {
      state.accounts.set(source, {
        ...account,
        sequence: target,
        sequenceTimeSeconds: header.closeTimeSeconds,
        sequenceLedger: header.sequence,
        modifiedAt: header.sequence,
      });
    }
    return done(resultOf(Result.bumpSequenceSuccess()));
  },
};
