import { Address, hash, Keypair, xdr } from '@stellar/stellar-sdk';
import { HostError } from './host-error.js';
import { accountKey, contractData, contractDataKey, type Storage } from './storage.js';

/** Checks authorization of a call. */
export interface Authorization {
  /** `require_auth` of an address for the call of the transaction; traps without authorization. */
  require(address: xdr.ScAddress, invocation: xdr.SorobanAuthorizedFunction): void;
  /** The entries that a simulation found necessary; else empty. */
  recorded(): readonly xdr.SorobanAuthorizationEntry[];
}

/** The inputs of authorization checks. */
export interface AuthorizationContext {
  /** The operation's source account, G... */
  readonly source: string;
  /** The authorization of the operation; `record` for a simulation that records the needed entries. */
  readonly entries: readonly xdr.SorobanAuthorizationEntry[] | 'record';
  readonly storage: Storage;
  /** Hash of the passphrase. */
  readonly networkId: Uint8Array;
  /** The number of the ledger that is being made. */
  readonly ledger: number;
}

/**
 * Soroban's authorization (CAP-46-11, CAP-71) of one call without nested calls. Credentials of the source account need no own signature:
 * the transaction's is enough. Credentials of another account are signed by its master key over a one-time nonce that expires at a ledger;
 * those of later kinds sign the address too. Contracts as signers are not modelled, and so neither are delegates, which sign only for
 * contracts.
 */
export function createAuthorization({ source, entries, storage, networkId, ledger }: AuthorizationContext): Authorization {
  const recorded: xdr.SorobanAuthorizationEntry[] = [];
  const spent = new Set<xdr.SorobanAuthorizationEntry>();

  function isOf(entry: xdr.SorobanAuthorizationEntry, address: string): boolean {
    const credentials = addressCredentialsOf(entry);
    return address === (credentials === null ? source : Address.fromScAddress(credentials.address).toString());
  }

  function verify(entry: xdr.SorobanAuthorizationEntry, credentials: xdr.SorobanAddressCredentials, account: string): void {
    if (credentials.signatureExpirationLedger < ledger) throw new HostError('Auth, InvalidInput');
    const nonce = xdr.ScVal.scvLedgerKeyNonce(new xdr.ScNonceKey({ nonce: credentials.nonce }));
    const temporary = xdr.ContractDataDurability.temporary;
    const key = contractDataKey(credentials.address, nonce, temporary);
    storage.get(accountKey(account));
    if (storage.get(key) !== null) throw new HostError('Auth, ExistingValue');
    storage.put(key, contractData(credentials.address, nonce, xdr.ScVal.scvVoid(), temporary));
    const { address, signatureExpirationLedger } = credentials;
    const parts = { networkId, nonce: credentials.nonce, signatureExpirationLedger, invocation: entry.rootInvocation };
    const preimage =
      entry.credentials.type === 'sorobanCredentialsAddress'
        ? xdr.HashIdPreimage.envelopeTypeSorobanAuthorization(new xdr.HashIdPreimageSorobanAuthorization(parts))
        : xdr.HashIdPreimage.envelopeTypeSorobanAuthorizationWithAddress(
            new xdr.HashIdPreimageSorobanAuthorizationWithAddress({ ...parts, address }),
          );
    const signed = hash(preimage.toXdr());
    if (!signaturesIn(credentials.signature).some(({ key, signature }) => key === account && verifies(key, signed, signature))) {
      throw new HostError('Auth, InvalidAction');
    }
  }

  return {
    require(address, invocation) {
      const account = Address.fromScAddress(address).toString();
      if (entries === 'record') {
        recorded.push(neededEntry(account === source, address, invocation, storage));
        return;
      }
      const entry = entries.find(
        (candidate) =>
          !spent.has(candidate) &&
          isOf(candidate, account) &&
          candidate.rootInvocation.function.toXdr('base64') === invocation.toXdr('base64'),
      );
      if (entry === undefined) throw new HostError('Auth, InvalidAction');
      spent.add(entry);
      const credentials = addressCredentialsOf(entry);
      if (credentials !== null) verify(entry, credentials, account);
    },
    recorded: () => recorded,
  };
}

/** Returns what an address signs; null for the source account. */
function addressCredentialsOf({ credentials }: xdr.SorobanAuthorizationEntry): xdr.SorobanAddressCredentials | null {
  switch (credentials.type) {
    case 'sorobanCredentialsSourceAccount':
      return null;
    case 'sorobanCredentialsAddress':
      return credentials.address;
    case 'sorobanCredentialsAddressV2':
      return credentials.addressV2;
    case 'sorobanCredentialsAddressWithDelegates':
      return credentials.addressWithDelegates.addressCredentials;
  }
}

/** Returns an unsigned entry for missing authorization, and records the footprint of its signature check. */
function neededEntry(
  isSource: boolean,
  address: xdr.ScAddress,
  invocation: xdr.SorobanAuthorizedFunction,
  storage: Storage,
): xdr.SorobanAuthorizationEntry {
  const rootInvocation = new xdr.SorobanAuthorizedInvocation({ function: invocation, subInvocations: [] });
  if (isSource) {
    return new xdr.SorobanAuthorizationEntry({ credentials: xdr.SorobanCredentials.sorobanCredentialsSourceAccount(), rootInvocation });
  }
  const nonce = BigInt(Date.now());
  const nonceKey = xdr.ScVal.scvLedgerKeyNonce(new xdr.ScNonceKey({ nonce }));
  const temporary = xdr.ContractDataDurability.temporary;
  storage.get(accountKey(Address.fromScAddress(address).toString()));
  storage.put(contractDataKey(address, nonceKey, temporary), contractData(address, nonceKey, xdr.ScVal.scvVoid(), temporary));
  const credentials = new xdr.SorobanAddressCredentials({
    address,
    nonce,
    signatureExpirationLedger: 0,
    signature: xdr.ScVal.scvVoid(),
  });
  return new xdr.SorobanAuthorizationEntry({ credentials: xdr.SorobanCredentials.sorobanCredentialsAddress(credentials), rootInvocation });
}

/** Reads signatures in the form of the host's account contract: a vector of maps with `public_key` and `signature`. */
function signaturesIn(value: xdr.ScVal): readonly { readonly key: string; readonly signature: Uint8Array }[] {
  if (value.type !== 'scvVec') return [];
  return (value.vec ?? []).flatMap((item) => {
    if (item.type !== 'scvMap') return [];
    const fields = new Map((item.map ?? []).map((field) => [String(field.key.value), field.val]));
    const [key, signature] = [fields.get('public_key'), fields.get('signature')];
    if (key?.type !== 'scvBytes' || signature?.type !== 'scvBytes') return [];
    return [{ key: Address.account(key.bytes.value).toString(), signature: signature.bytes.value }];
  });
}

function verifies(key: string, signed: Uint8Array, signature: Uint8Array): boolean {
  return signature.length === 64 && Keypair.fromPublicKey(key).verify(signed, signature);
}
