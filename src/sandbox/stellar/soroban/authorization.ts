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
  readonly networkId: Buffer;
  /** The number of the ledger that is being made. */
  readonly ledger: number;
}

/**
 * Soroban's authorization (CAP-46-11) of one call without nested calls. Credentials of the source account need no own signature: the
 * transaction's is enough. Credentials of another account are signed by its master key over a one-time nonce that expires at a ledger.
 * Contracts as signers are not modelled.
 */
export function createAuthorization({ source, entries, storage, networkId, ledger }: AuthorizationContext): Authorization {
  const recorded: xdr.SorobanAuthorizationEntry[] = [];
  const spent = new Set<xdr.SorobanAuthorizationEntry>();

  function isOf(entry: xdr.SorobanAuthorizationEntry, address: string): boolean {
    const credentials = entry.credentials();
    if (credentials.switch().name === 'sorobanCredentialsSourceAccount') return address === source;
    return Address.fromScAddress(credentials.address().address()).toString() === address;
  }

  function verify(entry: xdr.SorobanAuthorizationEntry, account: string): void {
    const credentials = entry.credentials().address();
    if (credentials.signatureExpirationLedger() < ledger) throw new HostError('Auth, InvalidInput');
    const nonce = xdr.ScVal.scvLedgerKeyNonce(new xdr.ScNonceKey({ nonce: credentials.nonce() }));
    const temporary = xdr.ContractDataDurability.temporary();
    const key = contractDataKey(credentials.address(), nonce, temporary);
    storage.get(accountKey(account));
    if (storage.get(key) !== null) throw new HostError('Auth, ExistingValue');
    storage.put(key, contractData(credentials.address(), nonce, xdr.ScVal.scvVoid(), temporary));
    const signed = hash(
      xdr.HashIdPreimage.envelopeTypeSorobanAuthorization(
        new xdr.HashIdPreimageSorobanAuthorization({
          networkId,
          nonce: credentials.nonce(),
          signatureExpirationLedger: credentials.signatureExpirationLedger(),
          invocation: entry.rootInvocation(),
        }),
      ).toXDR(),
    );
    if (!signaturesIn(credentials.signature()).some(({ key, signature }) => key === account && verifies(key, signed, signature))) {
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
          candidate.rootInvocation().function().toXDR('base64') === invocation.toXDR('base64'),
      );
      if (entry === undefined) throw new HostError('Auth, InvalidAction');
      spent.add(entry);
      if (entry.credentials().switch().name !== 'sorobanCredentialsSourceAccount') verify(entry, account);
    },
    recorded: () => recorded,
  };
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
  const nonce = new xdr.Int64(BigInt(Date.now()));
  const nonceKey = xdr.ScVal.scvLedgerKeyNonce(new xdr.ScNonceKey({ nonce }));
  const temporary = xdr.ContractDataDurability.temporary();
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
function signaturesIn(value: xdr.ScVal): readonly { readonly key: string; readonly signature: Buffer }[] {
  if (value.switch().name !== 'scvVec') return [];
  return (value.vec() ?? []).flatMap((item) => {
    if (item.switch().name !== 'scvMap') return [];
    const fields = new Map((item.map() ?? []).map((field) => [String(field.key().value()), field.val()]));
    const [key, signature] = [fields.get('public_key'), fields.get('signature')];
    if (key?.switch().name !== 'scvBytes' || signature?.switch().name !== 'scvBytes') return [];
    return [{ key: Address.account(key.bytes()).toString(), signature: signature.bytes() }];
  });
}

function verifies(key: string, signed: Buffer, signature: Buffer): boolean {
  return signature.length === 64 && Keypair.fromPublicKey(key).verify(signed, signature);
}
