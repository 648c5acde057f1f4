import { Address, hash, Keypair, xdr } from '@stellar/stellar-sdk';
import { HostError } from './host-error.js';
import { accountKey, contractData, contractDataKey, type Storage } from './storage.js';

/** Who may be asked for consent to a call. */
export interface Authorization {
  /** `require_auth` of an address, for the call that the transaction makes; traps when there is no consent. */
  require(address: xdr.ScAddress, invocation: xdr.SorobanAuthorizedFunction): void;
  /** What a simulation found to be needed; empty otherwise. */
  recorded(): readonly xdr.SorobanAuthorizationEntry[];
}

/** What consent is checked against. */
export interface AuthorizationContext {
  /** The operation's source account, G... */
  readonly source: string;
  /** Consent that the operation brings; `record`: a simulation, which notes what is needed. */
  readonly entries: readonly xdr.SorobanAuthorizationEntry[] | 'record';
  readonly storage: Storage;
  /** Hash of the passphrase. */
  readonly networkId: Buffer;
  /** Number of the ledger in the making. */
  readonly ledger: number;
}

/**
 * Soroban's authorization (CAP-46-11) of one call without calls below it. Credentials of the source account need no signature of their own: the transaction's
 * is one. Those of another account are signed by its master key, over a nonce that is used once and until a ledger. Contracts as signers are not modelled.
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

/** What a simulation answers for consent that is not there: unsigned. It also notes what checking the signature will touch. */
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

/** Signatures as the account contract of the host takes them: a vector of maps with `public_key` and `signature`. */
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
