import type { Chain } from '../ports/chain/chain.js';
import type { Directory } from '../ports/directory.js';
import type { Signer } from '../ports/signer.js';
import type { Relayer } from '../records/relayer.js';

/** A relayer with its chain and signer. */
export interface DirectoryEntry {
  readonly relayer: Relayer;
  readonly chain: Chain;
  readonly signer: Signer;
}

/** A directory whose relayers can be added and removed. */
export interface ChangeableDirectory extends Directory {
  /** Replaces the relayer with the same id, or appends it. */
  put(entry: DirectoryEntry): void;
  remove(relayerId: string): void;
}

/** Creates the directory of these relayers, in this order. */
export function createDirectory(entries: readonly DirectoryEntry[]): ChangeableDirectory {
  const byId = new Map(entries.map((entry) => [entry.relayer.id, entry]));

  function entryOf(relayer: Relayer): DirectoryEntry {
    const entry = byId.get(relayer.id);
    if (entry === undefined) throw new Error(`unknown relayer ${relayer.id}`);
    return entry;
  }

  return {
    relayer: (id) => byId.get(id)?.relayer,
    relayers: () => [...byId.values()].map(({ relayer }) => relayer),
    chainOf: (relayer) => entryOf(relayer).chain,
    signerOf: (relayer) => entryOf(relayer).signer,
    setDisabled(relayerId, reason) {
      const entry = byId.get(relayerId);
      if (entry !== undefined && entry.relayer.disabledReason !== reason)
        byId.set(relayerId, { ...entry, relayer: { ...entry.relayer, disabledReason: reason } });
    },
    put: (entry) => void byId.set(entry.relayer.id, entry),
    remove: (relayerId) => void byId.delete(relayerId),
  };
}
