import { StrKey, xdr } from '@stellar/stellar-sdk';
import type { ContractEntry, LedgerState } from '../state.js';
import { ArchivedError, HostError } from './host-error.js';

/** The lifetime of entries in ledgers. */
export const lifeLedgers = 2_073_600;

/** Returns an archived entry that lives again (`getMinimumEntryTTL`). */
export function restored(entry: ContractEntry, ledger: number): ContractEntry {
  return { ...entry, liveUntil: ledger + lifeLedgers };
}

/** Storage that records the reads and writes of a host function. */
export interface Storage {
  get(key: xdr.LedgerKey): xdr.LedgerEntryData | null;
  put(key: xdr.LedgerKey, data: xdr.LedgerEntryData): void;
  /** Keys read and never written, and keys written, as base64: the footprint that the call needs. */
  footprint(): { readonly readOnly: readonly string[]; readonly readWrite: readonly string[] };
  /** The archived ones of them, which a declaration must name to restore them (CAP-66), as base64. */
  archived(): readonly string[];
  /** The total bytes written. */
  writtenBytes(): number;
}

/**
 * Opens the entries of a ledger to a host function. All reads and writes must be in a declared footprint, else the host
 * traps (soroban-env-host, storage.rs: "trying to access contract storage outside of the footprint"). Without one (a simulation) all are
 * allowed and recorded.
 */
export function createStorage(
  state: LedgerState,
  declared: xdr.LedgerFootprint | null,
  ledger: number,
  /** The positions in the read-write footprint of the archived entries that it declares. */
  restores: readonly number[] = [],
): Storage {
  const archived = new Set<string>();
  const read = new Set<string>();
  const written = new Map<string, number>();
  const mayWrite = declared === null ? null : new Set(declared.readWrite.map((key) => key.toXdr('base64')));
  const mayRead = declared === null ? null : new Set([...declared.readOnly, ...declared.readWrite].map((key) => key.toXdr('base64')));

  function demand(allowed: ReadonlySet<string> | null, key: string): void {
    if (allowed !== null && !allowed.has(key)) throw new HostError('Storage, ExceededLimit');
  }

  /** A simulation restores what it needs; a call restores only what its declaration names. */
  function restore(name: string, entry: ContractEntry): void {
    if (declared !== null && !restores.some((position) => declared.readWrite[position]?.toXdr('base64') === name))
      throw new ArchivedError();
    archived.add(name);
    written.set(name, entry.data.toXdr().length);
    state.contracts.set(name, restored(entry, ledger));
  }

  return {
    get(key) {
      const name = key.toXdr('base64');
      demand(mayRead, name);
      read.add(name);
      const entry = state.contracts.get(name);
      if (entry !== undefined && entry.liveUntil < ledger) restore(name, entry);
      return entry?.data ?? null;
    },
    put(key, data) {
      const name = key.toXdr('base64');
      demand(mayWrite, name);
      written.set(name, data.toXdr().length);
      const entry: ContractEntry = { data, liveUntil: ledger + lifeLedgers, modifiedAt: ledger };
      state.contracts.set(name, entry);
    },
    footprint: () => ({ readOnly: [...read].filter((key) => !written.has(key)), readWrite: [...written.keys()] }),
    archived: () => [...archived],
    writtenBytes: () => [...written.values()].reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** Returns the key of contract data. */
export function contractDataKey(contract: xdr.ScAddress, key: xdr.ScVal, durability: xdr.ContractDataDurability): xdr.LedgerKey {
  return xdr.LedgerKey.contractData(new xdr.LedgerKeyContractData({ contract, key, durability }));
}

/** Returns the key of a contract instance. */
export function instanceKey(contract: xdr.ScAddress): xdr.LedgerKey {
  return contractDataKey(contract, xdr.ScVal.scvLedgerKeyContractInstance(), xdr.ContractDataDurability.persistent);
}

/** Returns the key of code by its hash. */
export function codeKey(hash: Uint8Array | xdr.Hash): xdr.LedgerKey {
  return xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash }));
}

/** Returns the key of an account (G...). */
export function accountKey(account: string): xdr.LedgerKey {
  return xdr.LedgerKey.account(
    new xdr.LedgerKeyAccount({ accountId: xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(account)) }),
  );
}

/** Builds a contract data entry. */
export function contractData(
  contract: xdr.ScAddress,
  key: xdr.ScVal,
  val: xdr.ScVal,
  durability: xdr.ContractDataDurability,
): xdr.LedgerEntryData {
  return xdr.LedgerEntryData.contractData(new xdr.ContractDataEntry({ ext: xdr.ExtensionPoint.v0(), contract, key, durability, val }));
}
