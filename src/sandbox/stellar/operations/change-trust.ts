import { Asset, xdr } from '@stellar/stellar-sdk';
import { type Account, accountFlag, lineFlag, trustlineKey } from '../state.js';
import { done, failed, type OperationRules } from './operation.js';
import { addSubEntry, removeSubEntry } from './reserves.js';

const { ChangeTrustResult: Result } = xdr;
const resultOf = (result: xdr.ChangeTrustResult) => xdr.OperationResultTr.changeTrust(result);

/** ChangeTrustOpFrame.cpp, without pool shares. A new line needs a base reserve. */
export const changeTrust: OperationRules = {
  level: 'medium',

  check(body, source) {
    const { asset, limit } = partsOf(body);
    if (asset === null || asset.isNative() || limit < 0n) return failed(resultOf(Result.changeTrustMalformed()));
    return asset.getIssuer() === source ? failed(resultOf(Result.changeTrustMalformed())) : null;
  },

  apply(body, context) {
    const { state, header, source } = context;
    const { asset, limit } = partsOf(body);
    if (asset === null) throw new Error('the asset was checked');
    const key = trustlineKey(source, asset.toXdrObject());
    const line = state.trustlines.get(key);
    if (line !== undefined) {
      if (limit < line.balance + line.buying) {
        return failed(resultOf(limit === 0n ? Result.changeTrustCannotDelete() : Result.changeTrustInvalidLimit()));
      }
      if (limit === 0n) {
        state.trustlines.delete(key);
        removeSubEntry(context, `line ${key}`, source);
      } else {
        state.trustlines.set(key, { ...line, limit, modifiedAt: header.sequence });
      }
      return done(resultOf(Result.changeTrustSuccess()));
    }
    if (limit === 0n) return failed(resultOf(Result.changeTrustTrustLineMissing()));
    const issuer = state.accounts.get(asset.getIssuer() ?? '');
    if (issuer === undefined) return failed(resultOf(Result.changeTrustNoIssuer()));
    if (!addSubEntry(context, `line ${key}`, source)) return failed(resultOf(Result.changeTrustLowReserve()));
    const flags = newFlags(issuer);
    state.trustlines.set(key, {
      account: source,
      asset: asset.toXdrObject(),
      balance: 0n,
      selling: 0n,
      buying: 0n,
      limit,
      flags,
      modifiedAt: header.sequence,
    });
    return done(resultOf(Result.changeTrustSuccess()));
  },
};

/** A line is authorized unless its issuer requires that, and can be clawed back if its issuer has that flag. */
function newFlags({ flags }: Account): number {
  const authorized = (flags & accountFlag.required) === 0 ? lineFlag.authorized : 0;
  return authorized | ((flags & accountFlag.clawbackEnabled) === 0 ? 0 : lineFlag.clawbackEnabled);
}

function partsOf(body: xdr.OperationBody): { readonly asset: Asset | null; readonly limit: bigint } {
  const operation = xdr.expectUnionVariant(body, 'changeTrust').changeTrustOp;
  const line = operation.line;
  const kind = line.type;
  const limit = operation.limit;
  if (kind === 'assetTypeCreditAlphanum4') {
    return { asset: Asset.fromOperation(xdr.Asset.assetTypeCreditAlphanum4(line.alphaNum4)), limit };
  }
  if (kind === 'assetTypeCreditAlphanum12') {
    return { asset: Asset.fromOperation(xdr.Asset.assetTypeCreditAlphanum12(line.alphaNum12)), limit };
  }
  return { asset: kind === 'assetTypeNative' ? Asset.native() : null, limit };
}
