import type { Readiness } from '../api/contract/readiness.js';
import type { Overview } from '../core/overview/overview.js';
import type { Chain } from '../core/ports/chain/chain.js';
import { blockTimeMsOf } from '../core/ports/chain/head.js';
import type { Directory } from '../core/ports/directory.js';
import type { Store } from '../core/ports/store/store.js';
import { isActive } from '../core/records/relayer.js';
import type { BlockTimes } from '../core/rules/spend-ledger.js';
import type { AuditHealth } from '../core/work/log.js';
import type { createEngine } from '../engine/engine.js';
import type { FigureSources } from '../observability/metrics/gauges.js';
import type { Delivery } from '../webhooks/delivery.js';
import type { OpenedInstance } from './open-instance.js';

/* The state of the running service as operators see it. */

/** The component `store` while the store works. */
const storeWorks = 'ok';

type Engine = Pick<ReturnType<typeof createEngine>, 'lanes' | 'networks'>;

/** Says why a chain cannot be used; null: it can. */
export function problemsOf(engine: Pick<Engine, 'networks'>): (chain: Chain) => string | null {
  return (chain) => engine.networks().find((network) => network.chain === chain)?.problem ?? null;
}

/** Shows the time of the newest block of each relayer's network, as this instance has seen it. */
export function blockTimesOf(directory: Pick<Directory, 'relayer' | 'chainOf'>, engine: Pick<Engine, 'networks'>): BlockTimes {
  return {
    ofRelayer(id) {
      const relayer = directory.relayer(id);
      const chain = relayer && directory.chainOf(relayer);
      return blockTimeMsOf(engine.networks().find((network) => network.chain === chain)?.head ?? null);
    },
  };
}

/** The parts whose state the gauges show. */
export interface ShownParts {
  readonly engine: Engine;
  readonly directory: Pick<Directory, 'relayer'>;
  readonly opened: Pick<OpenedInstance, 'leases' | 'sharing' | 'logBytes'>;
  readonly delivery: Pick<Delivery, 'backlog'>;
  readonly overview: Pick<Overview, 'fundsOf'>;
  readonly readiness: () => Promise<Readiness>;
  readonly certificateExpiryMs: () => number | null;
}

/** Returns the sources of the gauges. */
export function figuresOf(parts: ShownParts): FigureSources {
  const { engine, directory, delivery, overview, readiness, certificateExpiryMs } = parts;
  const { leases, sharing, logBytes } = parts.opened;
  return {
    *relayers() {
      for (const lane of engine.lanes()) {
        const relayer = directory.relayer(lane.relayerId);
        const funds = relayer === undefined ? null : overview.fundsOf(relayer);
        yield {
          ...lane,
          isActive: relayer !== undefined && isActive(relayer),
          balance: funds?.balance ?? null,
          runwayMs: funds?.lastsMs ?? null,
        };
      }
    },
    networks: () =>
      engine.networks().map(({ network, head, problem, forkedHosts, stillSinceMs }) => ({
        network,
        head,
        isReachable: head !== null && problem === null,
        forkedEndpoints: forkedHosts.length,
        standsStill: stillSinceMs !== null,
      })),
    instances: () => ({
      states: sharing.instances().map(({ state }) => state),
      heldLeases: leases.held(),
      unheldLeases: sharing.unheld(),
      isRewound: sharing.rewind() !== null,
      isSigningHeld: sharing.ownHold() !== null,
      clockSkewMs: sharing.clockSkewMs(),
      unsafeSettings: sharing.unsafeSettings(),
      oldestSnapshot: sharing.oldestSnapshot(),
    }),
    webhookBacklog: () => delivery.backlog(),
    databaseLogBytes: logBytes,
    async readiness() {
      const { ready, components } = await readiness();
      return { isReady: ready, isStoreUp: components.store === storeWorks };
    },
    certificateExpiryMs,
  };
}

/**
 * Measures whether the service is ready: the store works, which also means that no other instance has taken over the work of this one. An
 * instance that drains is ready, because it still answers every call. One that may not sign is not ready. Networks are shown, but neither
 * unreachable ones nor networks that stand still make it unready.
 */
export async function measureReadiness(
  engine: Engine,
  store: Pick<Store, 'checkWorking'>,
  {
    ownHold,
    clockDifference,
    auditHealth,
  }: Pick<OpenedInstance['sharing'], 'ownHold' | 'clockDifference'> & { readonly auditHealth: AuditHealth },
): Promise<Readiness> {
  const isWorking = await store.checkWorking().then(
    () => true,
    () => false,
  );
  const networks = engine.networks().map(({ network, head, problem, forkedHosts, stillSinceMs }): [string, string] => {
    if (forkedHosts.length > 0) return [network, 'RPC nodes are on different branches of the chain'];
    if (problem === null && stillSinceMs !== null) return [network, `no new block since ${new Date(stillSinceMs).toISOString()}`];
    return [network, problem === null ? (head === null ? 'not seen yet' : 'ok') : 'unreachable'];
  });
  const hold = ownHold();
  const difference = clockDifference();
  return {
    ready: isWorking && hold === null,
    components: {
      store: isWorking ? storeWorks : 'not working',
      lanes: hold === null ? 'ok' : `signing stopped: ${hold}`,
      ...(difference === null ? {} : { clock: difference }),
      ...(auditHealth.problem() === null ? {} : { audit: 'the audit log cannot be written' }),
    },
    networks: Object.fromEntries(networks),
  };
}
