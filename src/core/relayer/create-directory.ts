import type { Chain } from '../ports/chain.js';
import type { Directory } from '../ports/directory.js';
import type { Signer } from '../ports/signer.js';
import type { Relayer } from './relayer.js';

/** A relayer and what it works with. */
export interface DirectoryEntry {
  readonly relayer: Relayer;
  readonly chain: Chain;
  readonly signer: Signer;
}

/** A directory whose relayers come and go. */
export interface ChangeableDirectory extends Directory {
  /** Takes the place of the one of its id, or the last place. */
  put(entry: DirectoryEntry): void;
  remove(relayerId: string): void;
}

/** Makes the directory of these relayers, in the order given. */
export function createDirectory(entries: readonly DirectoryEntry[]): ChangeableDirectory {
  const byId = new Map(entries.map((entry) => [entry.relayer.id, entry]));

  function entryOf(relayer: Relayer): DirectoryEntry {
    const entry = byId.get(relayer.id);
    if (entry === undefined) throw new Error(`no relayer ${relayer.id}`);
    return entry;
  }

  return {
    relayer: (id) => byId.get(id)?.relayer,
    relayers: () => [...byId.values()].map(({ relayer }) => relayer),
    chainOf: (relayer) => entryOf(relayer).chain,
    signerOf: (relayer) => entryOf(relayer).signer,
    setDisabled(relayerId, reason) {
      const entry = byId.get(relayerId);
      if (entry !== undefined) byId.set(relayerId, { ...entry, relayer: { ...entry.relayer, disabledReason: reason } });
    },
    put: (entry) => void byId.set(entry.relayer.id, entry),
    remove: (relayerId) => void byId.delete(relayerId),
  };
}
