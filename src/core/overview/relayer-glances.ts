import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Directory } from '../ports/directory.js';
import type { OpenOfRelayer } from '../ports/store/lane-views.js';
import type { Relayer } from '../records/relayer.js';
import { type AccountFunds, type Funds, isSameAccount } from './account-funds.js';
import type { BalanceReadings } from './balance-readings.js';
import type { Versioned } from './network-glances.js';
import type { OpenCounts } from './open-counts.js';

/** Relayers that are compared in one turn of the event loop. */
const relayersPerTurn = 2_000;

/** A relayer at a glance. */
export interface RelayerGlance {
  readonly relayer: Relayer;
  readonly open: OpenOfRelayer;
  readonly funds: Funds;
}

/** All relayers, and what of them has changed. */
export interface RelayerGlances {
  readonly all: ReadonlyMap<string, Versioned<RelayerGlance>>;
  /** The look that last removed a relayer. */
  readonly removedAt: number;
  /** The relayers that have changed after this version, and maybe others. */
  readonly changed: { readonly after: number; readonly ids: ReadonlySet<string> };
  /** Compares all relayers for a look with this version. */
  compare(version: number): Promise<void>;
  /** The look has ended; `before`: the version before it. What a look that failed has changed counts for the next one. */
  endLook(before: number): void;
}

/** The parts that know the relayers. */
export interface RelayerGlancesDeps {
  readonly directory: Pick<Directory, 'relayers'>;
  readonly funds: AccountFunds;
  readonly open: OpenCounts;
  readonly balances: Pick<BalanceReadings, 'forget'>;
}

/** Creates the glances; no relayer is known. */
export function createRelayerGlances({ directory, funds, open, balances }: RelayerGlancesDeps): RelayerGlances {
  const glances = new Map<string, Versioned<RelayerGlance>>();
  let removedAt = 0;
  let changed: RelayerGlances['changed'] = { after: 0, ids: new Set() };
  let changing = new Set<string>();

  return {
    all: glances,
    get removedAt() {
      return removedAt;
    },
    get changed() {
      return changed;
    },
    async compare(version) {
      const relayers = directory.relayers();
      for (const [index, relayer] of relayers.entries()) {
        if (index > 0 && index % relayersPerTurn === 0) await nextTurn();
        const before = glances.get(relayer.id)?.value;
        if (before !== undefined && !isSameAccount(before.relayer, relayer)) balances.forget(relayer.id);
        const value = { relayer, open: open.of(relayer.id), funds: funds.of(relayer) };
        if (before !== undefined && isSame(before, value)) continue;
        glances.set(relayer.id, { version, value });
        changing.add(relayer.id);
      }
      if (glances.size === relayers.length) return;
      const ids = new Set(relayers.map(({ id }) => id));
      for (const id of glances.keys()) {
        if (ids.has(id)) continue;
        glances.delete(id);
        open.forget(id);
        balances.forget(id);
        removedAt = version;
      }
      funds.keepOnly((id) => ids.has(id));
    },
    endLook(before) {
      changed = { after: before, ids: changing };
      changing = new Set();
    },
  };
}

function isSame(before: RelayerGlance, now: RelayerGlance): boolean {
  if (before.relayer !== now.relayer || before.funds !== now.funds) return false;
  const [a, b] = [before.open, now.open];
  if (a === b) return true;
  return (
    a.waiting === b.waiting &&
    a.inFlight === b.inFlight &&
    a.oldest?.id === b.oldest?.id &&
    a.oldest?.statusReason === b.oldest?.statusReason
  );
}
