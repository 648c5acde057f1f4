import { StrKey, xdr } from '@stellar/stellar-sdk';
import { type Account, accountFlag } from '../state.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';
import { addSubEntry, removeSubEntry } from './reserves.js';

const { SetOptionsResult: Result } = xdr;
const resultOf = (result: xdr.SetOptionsResult) => xdr.OperationResultTr.setOptions(result);
const maxSigners = 20;

const allFlags = 0b1111;

/** SetOptionsOpFrame.cpp, with ed25519 signers. The inflation destination is ignored: there is no inflation. */
export const setOptions: OperationRules = {
  level(body) {
    const { masterWeight, lowThreshold, medThreshold, highThreshold, signer } = xdr.expectUnionVariant(body, 'setOptions').setOptionsOp;
    return [masterWeight, lowThreshold, medThreshold, highThreshold, signer].some((part) => part != null) ? 'high' : 'medium';
  },

  check(body, source) {
    const operation = xdr.expectUnionVariant(body, 'setOptions').setOptionsOp;
    const [added, removed] = [operation.setFlags ?? 0, operation.clearFlags ?? 0];
    if (((added | removed) & ~allFlags) !== 0) return failed(resultOf(Result.setOptionsUnknownFlag()));
    if ((added & removed) !== 0) return failed(resultOf(Result.setOptionsBadFlags()));
    const weights = [operation.masterWeight, operation.lowThreshold, operation.medThreshold, operation.highThreshold];
    if (weights.some((weight) => weight !== null && weight > 255)) return failed(resultOf(Result.setOptionsThresholdOutOfRange()));
    if (operation.homeDomain != null && !/^[\x20-\x7e]*$/.test(String(operation.homeDomain)))
      return failed(resultOf(Result.setOptionsInvalidHomeDomain()));
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
    const flags = (account.flags & ~(operation.clearFlags ?? 0)) | (operation.setFlags ?? 0);
    if (flags !== account.flags && (account.flags & accountFlag.immutable) !== 0) return failed(resultOf(Result.setOptionsCantChange()));
    if ((flags & accountFlag.clawbackEnabled) !== 0 && (flags & accountFlag.revocable) === 0)
      return failed(resultOf(Result.setOptionsAuthRevocableRequired()));
    const changed: Account = {
      ...account,
      flags,
      homeDomain: operation.homeDomain == null ? account.homeDomain : String(operation.homeDomain),
      masterWeight: operation.masterWeight ?? account.masterWeight,
      thresholds: {
        low: operation.lowThreshold ?? account.thresholds.low,
        medium: operation.medThreshold ?? account.thresholds.medium,
        high: operation.highThreshold ?? account.thresholds.high,
      },
      modifiedAt: header.sequence,
    };
    const signer = operation.signer ?? null;
    state.accounts.set(source, changed);
    const wrong = signer === null ? null : changeSigner(changed, signer, context);
    if (wrong !== null) return failed(resultOf(wrong));
    return done(resultOf(Result.setOptionsSuccess()));
  },
};

function keyOf(signer: xdr.Signer): string {
  return StrKey.encodeEd25519PublicKey(xdr.expectUnionVariant(signer.key, 'signerKeyTypeEd25519').ed25519.value);
}

/** Weight 0 removes a signer; a new one needs a base reserve. Returns why that is refused; null: it is done. */
function changeSigner(account: Account, signer: xdr.Signer, context: OperationContext): xdr.SetOptionsResult | null {
  const { state } = context;
  const key = keyOf(signer);
  const others = account.signers.filter((known) => known.key !== key);
  const isKnown = others.length < account.signers.length;
  const name = `signer ${key} of ${account.id}`;
  if (signer.weight === 0 && isKnown) removeSubEntry(context, name, account.id);
  if (signer.weight !== 0 && !isKnown) {
    if (others.length >= maxSigners) return Result.setOptionsTooManySigners();
    if (!addSubEntry(context, name, account.id)) return Result.setOptionsLowReserve();
  }
  const signers = signer.weight === 0 ? others : [...others, { key, weight: signer.weight }];
  state.accounts.set(account.id, { ...(state.accounts.get(account.id) ?? account), signers });
  return null;
}
