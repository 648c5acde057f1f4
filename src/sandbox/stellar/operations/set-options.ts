import { StrKey, xdr } from '@stellar/stellar-sdk';
import { type Account, availableStroops } from '../state.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';

const { SetOptionsResult: Result } = xdr;
const resultOf = (result: xdr.SetOptionsResult) => xdr.OperationResultTr.setOptions(result);
const maxSigners = 20;

/**
 * SetOptionsOpFrame.cpp, only keys: master weight, thresholds, ed25519 signers. Flags, home domain and inflation destination are ignored.
 */
export const setOptions: OperationRules = {
  // Core requires a lower threshold if no key changes; every use here changes one.
  level: 'high',

  check(body, source) {
    const operation = xdr.expectUnionVariant(body, 'setOptions').setOptionsOp;
    const weights = [operation.masterWeight, operation.lowThreshold, operation.medThreshold, operation.highThreshold];
    if (weights.some((weight) => weight !== null && weight > 255)) return failed(resultOf(Result.setOptionsThresholdOutOfRange()));
    const signer = operation.signer ?? null;
    if (signer === null) return null;
    const isBad = signer.key.type !== 'signerKeyTypeEd25519' || keyOf(signer) === source || signer.weight > 255;
    return isBad ? failed(resultOf(Result.setOptionsBadSigner())) : null;
  },

  apply(body, context) {
    const { state, header, source } = context;
    const operation = xdr.expectUnionVariant(body, 'setOptions').setOptionsOp;
    const account = state.accounts.get(source);
    if (account === undefined) throw new Error('the source was there');
    const changed: Account = {
      ...account,
      masterWeight: operation.masterWeight ?? account.masterWeight,
      thresholds: {
        low: operation.lowThreshold ?? account.thresholds.low,
        medium: operation.medThreshold ?? account.thresholds.medium,
        high: operation.highThreshold ?? account.thresholds.high,
      },
      modifiedAt: header.sequence,
    };
    const signer = operation.signer ?? null;
    const next = signer === null ? changed : withSigner(changed, signer, context);
    if ('wrong' in next) return failed(resultOf(next.wrong));
    state.accounts.set(source, next);
    return done(resultOf(Result.setOptionsSuccess()));
  },
};

function keyOf(signer: xdr.Signer): string {
  return StrKey.encodeEd25519PublicKey(xdr.expectUnionVariant(signer.key, 'signerKeyTypeEd25519').ed25519.value);
}

/** Weight 0 removes a signer; a new one needs a base reserve. */
function withSigner(
  account: Account,
  signer: xdr.Signer,
  { header }: OperationContext,
): Account | { readonly wrong: xdr.SetOptionsResult } {
  const key = keyOf(signer);
  const others = account.signers.filter((known) => known.key !== key);
  const isKnown = others.length < account.signers.length;
  if (signer.weight === 0) return { ...account, signers: others, subEntries: account.subEntries - (isKnown ? 1 : 0) };
  if (!isKnown && others.length >= maxSigners) return { wrong: Result.setOptionsTooManySigners() };
  if (!isKnown && availableStroops(account, header) < header.baseReserveStroops) return { wrong: Result.setOptionsLowReserve() };
  return { ...account, signers: [...others, { key, weight: signer.weight }], subEntries: account.subEntries + (isKnown ? 0 : 1) };
}
