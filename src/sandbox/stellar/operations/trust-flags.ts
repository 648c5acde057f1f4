import { Asset, StrKey, xdr } from '@stellar/stellar-sdk';
import { accountOf } from '../frame.js';
import { accountFlag, lineFlag, trustlineKey } from '../state.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';
import { removeOffersOf } from './order-book.js';

const { AllowTrustResult: Allowed, SetTrustLineFlagsResult: Changed, ClawbackResult: Taken } = xdr;
const allowedOf = (result: xdr.AllowTrustResult) => xdr.OperationResultTr.allowTrust(result);
const setOf = (result: xdr.SetTrustLineFlagsResult) => xdr.OperationResultTr.setTrustLineFlags(result);
const takenOf = (result: xdr.ClawbackResult) => xdr.OperationResultTr.clawback(result);
const authorizations = lineFlag.authorized | lineFlag.maintainsLiabilities;

/** What a change of flags came to (`TrustFlagsOpFrameBase::doApply`). */
type FlagChange = 'done' | 'no line' | 'cannot revoke' | 'invalid';

/**
 * A revocable issuer can take an authorization away, which ends the trustor's offers; others can only give one. Shares of pools stay.
 */
function changeFlags(context: OperationContext, trustor: string, asset: xdr.Asset, next: (flags: number) => number): FlagChange {
  const { state, header, source } = context;
  const key = trustlineKey(trustor, asset);
  const line = state.trustlines.get(key);
  if (line === undefined) return 'no line';
  const flags = next(line.flags);
  if ((flags & authorizations) === authorizations) return 'invalid';
  const isRevocable = ((state.accounts.get(source)?.flags ?? 0) & accountFlag.revocable) !== 0;
  if (!isRevocable && rank(flags) < rank(line.flags)) return 'cannot revoke';
  if (rank(flags) === 0 && rank(line.flags) > 0) removeOffersOf(context, trustor, asset);
  state.trustlines.set(key, { ...(state.trustlines.get(key) ?? line), flags, modifiedAt: header.sequence });
  return 'done';
}

function rank(flags: number): number {
  if ((flags & lineFlag.authorized) !== 0) return 2;
  return (flags & lineFlag.maintainsLiabilities) === 0 ? 0 : 1;
}

/** AllowTrustOpFrame.cpp. */
export const allowTrust: OperationRules = {
  level: 'low',

  check(body, source) {
    const { trustor, authorize } = xdr.expectUnionVariant(body, 'allowTrust').allowTrustOp;
    return authorize > authorizations || addressOf(trustor) === source ? failed(allowedOf(Allowed.allowTrustMalformed())) : null;
  },

  apply(body, context) {
    const { trustor, asset: code, authorize } = xdr.expectUnionVariant(body, 'allowTrust').allowTrustOp;
    const issuer = xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(context.source));
    const asset =
      code.type === 'assetTypeCreditAlphanum4'
        ? xdr.Asset.assetTypeCreditAlphanum4(new xdr.AlphaNum4({ assetCode: code.assetCode4, issuer }))
        : xdr.Asset.assetTypeCreditAlphanum12(new xdr.AlphaNum12({ assetCode: code.assetCode12, issuer }));
    const results = {
      done: Allowed.allowTrustSuccess(),
      'no line': Allowed.allowTrustNoTrustLine(),
      'cannot revoke': Allowed.allowTrustCantRevoke(),
      invalid: Allowed.allowTrustMalformed(),
    };
    const change = changeFlags(context, addressOf(trustor), asset, (flags) => (flags & ~authorizations) | authorize);
    return change === 'done' ? done(allowedOf(results.done)) : failed(allowedOf(results[change]));
  },
};

/** SetTrustLineFlagsOpFrame.cpp. */
export const setTrustLineFlags: OperationRules = {
  level: 'low',

  check(body, source) {
    const { trustor, asset, setFlags, clearFlags } = xdr.expectUnionVariant(body, 'setTrustLineFlags').setTrustLineFlagsOp;
    const isValid =
      issuerOf(asset) === source &&
      addressOf(trustor) !== source &&
      (setFlags & clearFlags) === 0 &&
      (setFlags & ~authorizations) === 0 &&
      (clearFlags & ~0b111) === 0 &&
      (setFlags & authorizations) !== authorizations;
    return isValid ? null : failed(setOf(Changed.setTrustLineFlagsMalformed()));
  },

  apply(body, context) {
    const { trustor, asset, setFlags, clearFlags } = xdr.expectUnionVariant(body, 'setTrustLineFlags').setTrustLineFlagsOp;
    const results = {
      done: Changed.setTrustLineFlagsSuccess(),
      'no line': Changed.setTrustLineFlagsNoTrustLine(),
      'cannot revoke': Changed.setTrustLineFlagsCantRevoke(),
      invalid: Changed.setTrustLineFlagsInvalidState(),
    };
    const change = changeFlags(context, addressOf(trustor), asset, (flags) => (flags & ~clearFlags) | setFlags);
    return change === 'done' ? done(setOf(results.done)) : failed(setOf(results[change]));
  },
};

/** ClawbackOpFrame.cpp. */
export const clawback: OperationRules = {
  level: 'medium',

  check(body, source) {
    const { asset, amount, from } = xdr.expectUnionVariant(body, 'clawback').clawbackOp;
    const isValid = amount > 0n && issuerOf(asset) === source && accountOf(from) !== source;
    return isValid ? null : failed(takenOf(Taken.clawbackMalformed()));
  },

  apply(body, { state, header }) {
    const { asset, amount, from } = xdr.expectUnionVariant(body, 'clawback').clawbackOp;
    const key = trustlineKey(accountOf(from), asset);
    const line = state.trustlines.get(key);
    if (line === undefined) return failed(takenOf(Taken.clawbackNoTrust()));
    if ((line.flags & lineFlag.clawbackEnabled) === 0) return failed(takenOf(Taken.clawbackNotClawbackEnabled()));
    if (line.balance - line.selling < amount) return failed(takenOf(Taken.clawbackUnderfunded()));
    state.trustlines.set(key, { ...line, balance: line.balance - amount, modifiedAt: header.sequence });
    return done(takenOf(Taken.clawbackSuccess()));
  },
};

function issuerOf(asset: xdr.Asset): string | null {
  return asset.type === 'assetTypeNative' ? null : (Asset.fromOperation(asset).getIssuer() ?? null);
}

function addressOf(account: xdr.AccountId): string {
  return StrKey.encodeEd25519PublicKey(account.ed25519.value);
}
