import { createPublicKey, verify } from 'node:crypto';
import { StrKey, type xdr } from '@stellar/stellar-sdk';
import { remembered, rememberedByText } from '../remembered.js';
import type { Account } from './state.js';

/** A signing key and its weight. */
interface WeightedKey {
  /** G... */
  readonly key: string;
  readonly weight: number;
}

/** Checks the signatures of one envelope and records which ones were needed. */
export interface SignatureChecker {
  /** True if keys of the account sign with at least this weight. */
  signs(account: Account, level: keyof Account['thresholds']): boolean;
  /** True if this key signs, the only check for an account that does not exist. */
  keySigns(key: string): boolean;
  /** True if all signatures were needed: an extra one makes a transaction invalid (txBAD_AUTH_EXTRA). */
  allUsed(): boolean;
}

/**
 * The rules of `SignatureChecker::checkSignature` (stellar-core, SignatureChecker.cpp) for ed25519 keys: a signature counts when its hint
 * is the key's last four bytes and it verifies; a key counts once; a weight above 255 counts as 255; a threshold of 0 still needs one
 * signature. A master key of weight 0 does not sign. Keys of other kinds (pre-authorized, hash, signed payload) are not modelled.
 */
export function createSignatureChecker(hashHex: string, signatures: readonly xdr.DecoratedSignature[]): SignatureChecker {
  const message = Buffer.from(hashHex, 'hex');
  const used = new Set<xdr.DecoratedSignature>();

  function reaches(keys: readonly WeightedKey[], needed: number): boolean {
    const left = new Set(keys);
    let weight = 0;
    for (const signature of signatures) {
      for (const candidate of left) {
        if (!verifies(candidate.key, signature, message)) continue;
        used.add(signature);
        left.delete(candidate);
        weight += Math.min(candidate.weight, 255);
        if (weight >= needed) return true;
        break;
      }
    }
    return false;
  }

  return {
    signs(account, level) {
      const master = account.masterWeight > 0 ? [{ key: account.id, weight: account.masterWeight }] : [];
      return reaches([...master, ...account.signers], account.thresholds[level]);
    },
    keySigns: (key) => reaches([{ key, weight: 1 }], 0),
    allUsed: () => signatures.every((signature) => used.has(signature)),
  };
}

function verifies(key: string, signature: xdr.DecoratedSignature, message: Buffer): boolean {
  const { raw, publicKey } = keyOf(key);
  if (!raw.subarray(-4).equals(signature.hint.value) || signature.signature.value.length !== 64) return false;
  // A ledger verifies each signature several times.
  const verdicts = verdictsOf(signature);
  const question = `${key} ${message.toString('hex')}`;
  const verdict = verdicts.get(question) ?? verify(null, message, publicKey, signature.signature.value);
  verdicts.set(question, verdict);
  return verdict;
}

const verdictsOf = remembered<xdr.DecoratedSignature, Map<string, boolean>>(() => new Map());

/** Much faster than the SDK's keys. */
const keyOf = rememberedByText(1_000, (key) => {
  const raw = Buffer.from(StrKey.decodeEd25519PublicKey(key));
  return { raw, publicKey: createPublicKey({ key: Buffer.concat([publicKeyPrefix, raw]), format: 'der', type: 'spki' }) };
});

/** The DER prefix of an ed25519 public key (RFC 8410, section 4). */
const publicKeyPrefix = Buffer.from('302a300506032b6570032100', 'hex');
