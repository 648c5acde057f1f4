import { Asset, getLiquidityPoolId, LiquidityPoolAsset, StrKey, xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors/errors.js';
import { readAll, readEach } from '../../core/errors/read-all.js';
import type { StellarAsset, StellarField, StellarFields } from '../../core/records/stellar.js';
import { checkText, syntaxes } from '../../core/text/text-syntax.js';
import { accountIdFrom, accountOf, muxedAccountFrom } from './address.js';
import { readXdrField } from './xdr-text.js';

/** What the value of an operation's field can be: its type in the definitions, its limits, and how it is encoded. */
export interface Kind<T> {
  /** The type in the definitions, after `repeated ` if it is a list. */
  readonly type: string;
  /** The options `(relayer.rest.v1.field)`. */
  readonly rules?: Readonly<Record<string, string | number | boolean>>;
  /** The sentence about limits that follows the field's own in the definitions. */
  readonly limits?: string;
  /** True if 0 or an empty value has a meaning that differs from an absent one. */
  readonly hasZero?: true;
  /** Throws `DomainError` (400) naming the path. */
  read(value: StellarField, path: string): T;
}

const maxInt64 = 2n ** 63n - 1n;

export const account: Kind<xdr.AccountId> = {
  type: 'string',
  rules: { syntax: 'stellar_account' },
  limits: 'An account, `G...`.',
  read: (value, path) => accountFrom(textOf(value, path), path),
};

export const receiver: Kind<xdr.MuxedAccount> = {
  type: 'string',
  rules: { syntax: 'stellar_receiver' },
  limits: 'An account, `G...` or `M...`.',
  read: (value, path) => receiverFrom(textOf(value, path), path),
};

export const asset: Kind<xdr.Asset> = { type: 'AssetSpec', read: readAsset };

/** An amount in units of 10^-7. */
export function amount(min: 0 | 1): Kind<bigint> {
  return {
    ...(min === 0 ? { hasZero: true } : {}),
    type: 'int64',
    rules: { min },
    limits: `In units of 10^-7 (of the native asset: stroops), ${min} to 2^63-1.`,
    read(value, path) {
      const units = integerOf(value, path);
      if (units < BigInt(min)) throw invalidField(path, `is ${units}; must be at least ${min}`);
      return units;
    },
  };
}

/** An integer of 64 bits that is not negative. */
export const count: Kind<bigint> = { ...amount(0), limits: '0 to 2^63-1.' };

/** An integer of 32 bits. */
export function number(min: number, max: number): Kind<number> {
  return {
    ...(min === 0 ? { hasZero: true } : {}),
    type: 'uint32',
    rules: { min, max },
    limits: `${min} to ${max}.`,
    read(value, path) {
      if (typeof value !== 'number') throw invalidField(path, 'is required');
      if (value < min || value > max) throw invalidField(path, `is ${value}; must be ${min} to ${max}`);
      return value;
    },
  };
}

export const price: Kind<xdr.Price> = { type: 'PriceSpec', read: priceFrom };

export const path: Kind<readonly xdr.Asset[]> = {
  type: 'repeated AssetSpec',
  rules: { max_items: 5 },
  limits: 'At most 5.',
  read(value, at) {
    const items = listOf(value);
    if (items.length > 5) throw invalidField(at, `has ${items.length} assets; the maximum is 5`);
    return readEach(items, (item, index) => readAsset(item, `${at}[${index}]`));
  },
};

export const dataName: Kind<string> = {
  type: 'string',
  rules: { syntax: 'data_name' },
  limits: '1 to 64 printable ASCII characters.',
  read: (value, at) => checked(textOf(value, at), at, 'data_name'),
};

export const homeDomain: Kind<string> = {
  type: 'string',
  hasZero: true,
  rules: { syntax: 'home_domain' },
  limits: 'At most 32 printable ASCII characters.',
  read: (value, at) => checked(String(value), at, 'home_domain'),
};

export const dataValue: Kind<Uint8Array> = {
  type: 'bytes',
  hasZero: true,
  rules: { hex: true, max_length: 64 },
  limits: 'At most 64 bytes. In REST hexadecimal, or an array of integers from 0 to 255.',
  read(value, at) {
    if (!(value instanceof Uint8Array)) throw invalidField(at, 'is required');
    if (value.length > 64) throw invalidField(at, `is ${value.length} bytes; the maximum is 64`);
    return value;
  },
};

export const poolId: Kind<xdr.PoolId> = {
  type: 'bytes',
  rules: { hex: true, length: 32 },
  limits: '32 bytes. In REST 64 hex digits or an array of 32 integers.',
  read: (value, at) => new xdr.PoolId(bytes32(value, at)),
};

export const balanceId: Kind<xdr.ClaimableBalanceId> = {
  type: 'string',
  rules: { syntax: 'claimable_balance' },
  limits: '72 hex digits, as Horizon shows it, or `B...`.',
  read(value, at) {
    const text = checked(textOf(value, at), at, 'claimable_balance');
    if (StrKey.isValidClaimableBalance(text))
      return xdr.ClaimableBalanceId.fromXdr(Buffer.concat([Buffer.alloc(3), StrKey.decodeClaimableBalance(text)]));
    if (text.startsWith('B')) throw invalidField(at, syntaxes.claimable_balance.description);
    return xdr.ClaimableBalanceId.claimableBalanceIdTypeV0(Buffer.from(text.slice(8), 'hex'));
  },
};

/** A line of trust: an issued asset, or the shares of a pool. */
export const trustLine: Kind<xdr.ChangeTrustAsset> = { type: 'TrustLineAssetSpec', read: trustLineFrom };

export const assetCode: Kind<xdr.AssetCode> = {
  type: 'string',
  rules: { syntax: 'asset_code' },
  limits: '1 to 12 characters from `A-Z a-z 0-9`.',
  read(value, at) {
    const text = textOf(value, at);
    if (text.length <= 4) return xdr.AssetCode.assetTypeCreditAlphanum4(assetCodeFrom(text, at, 4));
    return xdr.AssetCode.assetTypeCreditAlphanum12(assetCodeFrom(text, at, 12));
  },
};

export const signer: Kind<xdr.Signer> = {
  type: 'SignerSpec',
  read(value, at) {
    const fields = fieldsOf(value, at);
    return new xdr.Signer(
      readAll({ key: () => signerKeyFrom(fields, at), weight: () => number(0, 255).read(fields.weight, `${at}.weight`) }),
    );
  },
};

export const signerKey: Kind<xdr.SignerKey> = { type: 'SignerKeySpec', read: (value, at) => signerKeyFrom(fieldsOf(value, at), at) };

export const claimants: Kind<readonly xdr.Claimant[]> = {
  type: 'repeated ClaimantSpec',
  rules: { min_items: 1, max_items: 10 },
  limits: '1 to 10, each destination once.',
  read(value, at) {
    const items = listOf(value);
    if (items.length < 1 || items.length > 10) throw invalidField(at, `has ${items.length} claimants; must have 1 to 10`);
    return readEach(items, (item, index) => claimantFrom(item, `${at}[${index}]`));
  },
};

/** The flags of a trust line that change: bits to set and to clear. */
export const trustFlags: Kind<{ readonly setFlags: number; readonly clearFlags: number }> = {
  type: 'TrustLineFlagsSpec',
  read(value, at) {
    const fields = fieldsOf(value, at);
    let [setFlags, clearFlags] = [0, 0];
    for (const [bit, name] of ['authorized', 'authorized_to_maintain_liabilities', 'clawback_enabled'].entries()) {
      if (fields[name] === true) setFlags |= 1 << bit;
      if (fields[name] === false) clearFlags |= 1 << bit;
    }
    if ((setFlags & 0b100) !== 0)
      throw invalidField(`${at}.clawback_enabled`, 'can only be false: an issuer cannot add it to a trust line');
    if ((setFlags & 0b11) === 0b11)
      throw invalidField(`${at}.authorized_to_maintain_liabilities`, 'must not be true together with authorized');
    return { setFlags, clearFlags };
  },
};

export const ledgerKeys: Kind<readonly xdr.LedgerKey[]> = {
  type: 'repeated string',
  rules: { syntax: 'xdr', min_items: 1, max_items: 100 },
  limits: '1 to 100 keys of contract data or code, each base64 XDR of a LedgerKey.',
  read(value, at) {
    const items = listOf(value);
    if (items.length < 1 || items.length > 100) throw invalidField(at, `has ${items.length} keys; must have 1 to 100`);
    return readEach(items, (item, index) => {
      const key = readXdrField(xdr.LedgerKey, textOf(item, `${at}[${index}]`), `${at}[${index}]`, 'a LedgerKey');
      if (key.type !== 'contractData' && key.type !== 'contractCode')
        throw invalidField(`${at}[${index}]`, 'must be the key of contract data or code');
      return key;
    });
  },
};

/** Encodes the account (`G...`) at `path`. Throws `DomainError` (400). */
export function accountFrom(text: string, at: string): xdr.AccountId {
  if (!StrKey.isValidEd25519PublicKey(text)) throw invalidField(at, syntaxes.stellar_account.description);
  return accountIdFrom(text);
}

/** Encodes the account (`G...` or `M...`) at `path`. Throws `DomainError` (400). */
export function receiverFrom(text: string, at: string): xdr.MuxedAccount {
  if (accountOf(text) === null) throw invalidField(at, syntaxes.stellar_receiver.description);
  return muxedAccountFrom(text);
}

/** Encodes the asset at `path`. Throws `DomainError` (400). */
export function assetFrom(given: StellarAsset | undefined, at: string): xdr.Asset {
  switch (given?.kind) {
    case undefined:
      throw invalidField(at, 'is required');
    case 'unset':
      throw invalidField(`${at}.type`, 'is required');
    case 'native':
      return xdr.Asset.assetTypeNative();
    case 'credit4':
      return xdr.Asset.assetTypeCreditAlphanum4(new xdr.AlphaNum4(creditFrom(given, at, 4)));
    case 'credit12':
      return xdr.Asset.assetTypeCreditAlphanum12(new xdr.AlphaNum12(creditFrom(given, at, 12)));
  }
}

function readAsset(given: StellarField, at: string): xdr.Asset {
  if (given === undefined) return assetFrom(undefined, at);
  const { kind, value } = fieldsOf(given, at);
  if (kind === 'native') return assetFrom({ kind }, at);
  if (kind !== 'credit4' && kind !== 'credit12') return assetFrom({ kind: 'unset' }, at);
  const { code, issuer } = fieldsOf(value, at);
  return assetFrom({ kind, code: String(code ?? ''), issuer: String(issuer ?? '') }, at);
}

function creditFrom(
  { code, issuer }: Extract<StellarAsset, { code: string }>,
  at: string,
  length: 4 | 12,
): { assetCode: Buffer; issuer: xdr.AccountId } {
  return readAll({
    assetCode: () => assetCodeFrom(code, `${at}.code`, length),
    issuer: () => accountFrom(issuer, `${at}.issuer`),
  });
}

function assetCodeFrom(code: string, at: string, length: 4 | 12): Buffer {
  checkText(at, code, syntaxes[`asset_code_${length}`]);
  const bytes = Buffer.alloc(length);
  bytes.write(code, 'latin1');
  return bytes;
}

/** Returns the exact fraction: an offer at a price that was rounded is another offer. */
function priceFrom(value: StellarField, at: string): xdr.Price {
  const { decimal, n, d } = fieldsOf(value, at);
  if (decimal !== undefined) {
    if (n !== undefined || d !== undefined) throw invalidField(at, 'must have either decimal, or n and d');
    return decimalPrice(String(decimal), at);
  }
  return new xdr.Price(readAll({ n: () => partOf(n, `${at}.n`), d: () => partOf(d, `${at}.d`) }));
}

const maxInt32 = 2 ** 31 - 1;

function partOf(value: StellarField, at: string): number {
  if (typeof value !== 'number') throw invalidField(at, 'is required');
  if (value < 1) throw invalidField(at, `is ${value}; must be at least 1`);
  return value;
}

function decimalPrice(text: string, at: string): xdr.Price {
  const [whole = '', fraction = ''] = checked(text, at, 'stellar_price').split('.');
  const [n, d] = [BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
  if (n === 0n) throw invalidField(at, 'must be above 0');
  const divisor = commonDivisor(n, d);
  if (n / divisor > BigInt(maxInt32) || d / divisor > BigInt(maxInt32))
    throw invalidField(at, `is no exact fraction of integers up to ${maxInt32}; set n and d`);
  return new xdr.Price({ n: Number(n / divisor), d: Number(d / divisor) });
}

function commonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : commonDivisor(b, a % b);
}

function trustLineFrom(value: StellarField, at: string): xdr.ChangeTrustAsset {
  const { kind, value: parts } = fieldsOf(value, at);
  // The types of assets and of lines have the same encoding, except for pool shares.
  if (kind !== 'liquidity_pool') return xdr.ChangeTrustAsset.fromXdr(readAsset(value, at).toXdr());
  const { asset_a, asset_b } = fieldsOf(parts, at);
  const { assetA, assetB } = readAll({
    assetA: () => readAsset(asset_a, `${at}.asset_a`),
    assetB: () => readAsset(asset_b, `${at}.asset_b`),
  });
  if (Asset.compare(Asset.fromOperation(assetA), Asset.fromOperation(assetB)) >= 0)
    throw invalidField(`${at}.asset_b`, 'must come after asset_a: native first, then by type, code and issuer');
  return poolShare(assetA, assetB);
}

function poolShare(assetA: xdr.Asset, assetB: xdr.Asset): xdr.ChangeTrustAsset {
  return new LiquidityPoolAsset(Asset.fromOperation(assetA), Asset.fromOperation(assetB), 30).toXdrObject();
}

/** Returns the key of the trust line that `change_trust` with this asset makes. */
export function trustLineAsset(line: xdr.ChangeTrustAsset): xdr.TrustLineAsset {
  if (line.type !== 'assetTypePoolShare') return xdr.TrustLineAsset.fromXdr(line.toXdr());
  const { assetA, assetB, fee } = line.liquidityPool.constantProduct;
  const id = getLiquidityPoolId('constant_product', { assetA: Asset.fromOperation(assetA), assetB: Asset.fromOperation(assetB), fee });
  return xdr.TrustLineAsset.assetTypePoolShare(new xdr.PoolId(id));
}

function signerKeyFrom({ kind, value }: StellarFields, at: string): xdr.SignerKey {
  switch (kind) {
    case 'ed25519_public_key': {
      const key = textOf(value, `${at}.${kind}`);
      if (!StrKey.isValidEd25519PublicKey(key)) throw invalidField(`${at}.${kind}`, syntaxes.stellar_account.description);
      return xdr.SignerKey.signerKeyTypeEd25519(StrKey.decodeEd25519PublicKey(key));
    }
    case 'sha256_hash':
      return xdr.SignerKey.signerKeyTypeHashX(bytes32(value, `${at}.${kind}`));
    case 'pre_auth_tx':
      return xdr.SignerKey.signerKeyTypePreAuthTx(bytes32(value, `${at}.${kind}`));
    case 'ed25519_signed_payload': {
      const key = textOf(value, `${at}.${kind}`);
      if (!StrKey.isValidSignedPayload(key)) throw invalidField(`${at}.${kind}`, 'must be a signed payload (P...)');
      return xdr.SignerKey.signerKeyTypeEd25519SignedPayload(xdr.SignerKeyEd25519SignedPayload.fromXdr(StrKey.decodeSignedPayload(key)));
    }
    default:
      throw invalidField(at, 'must have ed25519_public_key, sha256_hash, pre_auth_tx or ed25519_signed_payload');
  }
}

function claimantFrom(value: StellarField, at: string): xdr.Claimant {
  const fields = fieldsOf(value, at);
  return xdr.Claimant.claimantTypeV0(
    new xdr.ClaimantV0(
      readAll({
        destination: () => account.read(fields.destination, `${at}.destination`),
        predicate: () =>
          fields.predicate === undefined
            ? xdr.ClaimPredicate.claimPredicateUnconditional()
            : predicateFrom(fields.predicate, `${at}.predicate`, 1),
      }),
    ),
  );
}

/** The maximum nesting of predicates (`validatePredicate` of stellar-core). */
const maxPredicateDepth = 4;

function predicateFrom(given: StellarField, at: string, depth: number): xdr.ClaimPredicate {
  if (depth > maxPredicateDepth) throw invalidField(at, `is nested too deeply; the maximum is ${maxPredicateDepth}`);
  const { kind, value } = fieldsOf(given, at);
  const inner = `${at}.${kind}`;
  switch (kind) {
    case 'unconditional':
      return xdr.ClaimPredicate.claimPredicateUnconditional();
    case 'and':
    case 'or': {
      const items = listOf(fieldsOf(value, inner).predicates);
      if (items.length !== 2) throw invalidField(inner, `has ${items.length} predicates; must have 2`);
      const both = [...readEach(items, (item, index) => predicateFrom(item, `${inner}[${index}]`, depth + 1))];
      return kind === 'and' ? xdr.ClaimPredicate.claimPredicateAnd(both) : xdr.ClaimPredicate.claimPredicateOr(both);
    }
    case 'not':
      return xdr.ClaimPredicate.claimPredicateNot(predicateFrom(value, inner, depth + 1));
    case 'before_absolute_time':
      return xdr.ClaimPredicate.claimPredicateBeforeAbsoluteTime(count.read(value, inner));
    case 'before_relative_time':
      return xdr.ClaimPredicate.claimPredicateBeforeRelativeTime(count.read(value, inner));
    default:
      throw invalidField(at, 'is required');
  }
}

function checked(text: string, at: string, syntax: keyof typeof syntaxes): string {
  checkText(at, text, syntaxes[syntax]);
  return text;
}

function textOf(value: StellarField, at: string): string {
  if (typeof value !== 'string' || value === '') throw invalidField(at, 'is required');
  return value;
}

function integerOf(value: StellarField, at: string): bigint {
  if (typeof value !== 'bigint') throw invalidField(at, 'is required');
  if (value > maxInt64) throw invalidField(at, `must be at most ${maxInt64}`);
  return value;
}

function bytes32(value: StellarField, at: string): Uint8Array {
  if (!(value instanceof Uint8Array) || value.length !== 32) throw invalidField(at, 'must be 32 bytes: 64 hex digits');
  return value;
}

function listOf(value: StellarField): readonly StellarField[] {
  return Array.isArray(value) ? value : [];
}

function fieldsOf(value: StellarField, at: string): StellarFields {
  if (typeof value !== 'object' || Array.isArray(value) || value instanceof Uint8Array) throw invalidField(at, 'is required');
  return value as StellarFields;
}
