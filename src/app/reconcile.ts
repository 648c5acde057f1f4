import { isDeepStrictEqual } from 'node:util';
import { ConfigError, type Problem } from '../config/problem.js';
import type { RelayerEntry } from '../config/relayer-entries.js';
import type { DefinitionWrite, StoredDefinitions } from '../core/definitions/definition-writer.js';
import { DomainError } from '../core/errors/errors.js';
import { networkIdOf } from '../core/network/networks.js';
import type { Chain } from '../core/ports/chain/chain.js';
import type { Network, RpcUrl } from '../core/records/network.js';
import type { Relayer } from '../core/records/relayer.js';
import type { ChangeableDirectory } from '../core/relayer/create-directory.js';
import type { PinnedKey } from '../core/signer/hosted-key.js';
import type { Signers } from '../core/signer/signers.js';
import { type FoundAccount, findAccounts, openSigners, problemOf, type SignerOpeners, type UnopenedSigner } from './open-accounts.js';
import type { Touched, Wanted } from './wanted.js';

/*
 * The only way from what is wanted (`wanted.ts`) to what runs: signers are open, and relayers are in the directory with a signer, a chain
 * and a lane. A start reconciles from nothing. A change by the API, and one of another instance, reconciles from what runs: the API stores
 * a definition, and every instance takes it from there, the instance that stored it included.
 *
 * A signer is `closed` or `open`. It is open from one secret; another secret under its id is another signer.
 * A relayer is
 *   - `stopped`: not in the directory, no lane;
 *   - `running`: in the directory as it is wanted, its lane on the chain that the directory has;
 *   - `moving`: in the directory as it is wanted, but its lane may not be open on that chain yet, because opening it failed or is under
 *     way.
 * What `reconcile` could not do is done by the next one: `moving` relayers and wanted ones that are `stopped` count as touched until they
 * run.
 *
 * What must never happen:
 *   - a change is answered while this instance runs a relayer with the signer, the policies, the URLs or the pause of before;
 *   - two lanes for one account, or two signers open under one id: what ends has ended before anything that may take its place begins;
 *   - a signer that is closed while a relayer uses it, or a chain that is closed while a lane uses it;
 *   - what is half open counts as running, or stays open after a start that failed;
 *   - one signer or relayer that cannot be opened keeps others from being changed. At a start it does: then nothing runs, and every problem
 *     is reported;
 *   - a disabled relayer that a change enables: only the watcher of its chain, and its lane, say whether it is disabled;
 *   - two reconciliations at once: the start is one, and the writer of definitions runs the others one at a time.
 */

/** Connections to chains. Relayers with the same RPC URLs share one. */
export interface Chains {
  /** Returns the chain behind these RPC URLs, opening it if needed. Calls no node. Release it once for each time it was acquired. */
  acquire(network: Network, rpcUrls: readonly RpcUrl[]): Promise<Chain>;
  /** Closes the chain after its last release. */
  release(chain: Chain): Promise<void>;
}

/** What reconciling reads and changes. */
export interface ReconcileDeps extends SignerOpeners {
  readonly wanted: Wanted;
  readonly signers: Signers;
  readonly directory: ChangeableDirectory;
  readonly chains: Chains;
  readonly engine: {
    /** Opens the lanes of relayers that were added to the directory, or moves them to the chains that the directory now has for them. */
    open(relayers: readonly Relayer[]): Promise<void>;
    /** Closes the lane of a relayer. */
    close(relayer: Relayer): Promise<void>;
  };
}

/** What a start may refuse before any lane is open. */
export interface Starting {
  readonly relayers: readonly Relayer[];
  /** The public keys of the hosted signers. */
  readonly pins: readonly PinnedKey[];
}

/** The two ways to reconcile. */
export interface Reconciler {
  /**
   * Starts everything that is wanted. Calls `admit` before the first lane is opened. Throws what `admit` throws, and ConfigError with every
   * key that cannot be opened and every account that two relayers share. Needs no RPC node.
   */
  start(all: Touched, admit: (starting: Starting) => Promise<void>): Promise<void>;
  /**
   * Changes what runs to what is stored now: all definitions, or only the ones just written. Throws the first failure after all other
   * changes: `SIGNER_UNAVAILABLE` if a signer cannot be opened here.
   */
  follow(stored: StoredDefinitions | readonly DefinitionWrite[]): Promise<void>;
}

/** When a caller should try again while a signer cannot be opened. */
const retryAfterMs = 1_000;

/** Makes the reconciler of an instance on which nothing runs yet. */
export function createReconciler(deps: ReconcileDeps): Reconciler {
  const { wanted, signers, directory, chains, engine } = deps;
  /** Wanted, and `stopped`. */
  const waiting = new Set<string>();
  /** `moving`, each with the chains that its lane may still use besides the directory's chain. */
  const moving = new Map<string, Chain[]>();

  /** `judge` sees what was found before anything is opened in place of what ended. What it throws ends the work. */
  async function reconcile(touched: Touched, judge: (found: Found) => Promise<void>): Promise<void> {
    const failures: unknown[] = [];
    const attempt = async (work: () => Promise<unknown>) => void (await work().catch((error: unknown) => failures.push(error)));

    const entries = wantedAmong(touched);
    for (const [id, entry] of entries) {
      const relayer = directory.relayer(id);
      if (relayer !== undefined && !staysOpen(relayer, entry)) await attempt(() => stop(relayer));
    }
    for (const id of touched.signers) await attempt(() => closeUnlessWanted(id));

    const toStart = [...entries].flatMap(([id, entry]) => (entry !== undefined && directory.relayer(id) === undefined ? [entry] : []));
    for (const { id } of toStart) waiting.add(id);
    const { pins, unopened } = await openSigners(signersToOpen(touched), signers, deps);
    const startable = toStart.filter(({ signerId }) => isOpenAsWanted(signerId));
    const { accounts, problems } = await findAccounts(startable, wanted, signers, runningOnSameChains(startable));
    await judge({ relayers: accounts.map(relayerFrom), pins, unopened, problems });

    for (const [id, entry] of entries) {
      const relayer = directory.relayer(id);
      // One that could not be stopped is not changed either.
      if (relayer !== undefined && entry !== undefined && staysOpen(relayer, entry)) await attempt(() => change(relayer, entry));
    }
    const refused = new Set(problems.map(({ path }) => path));
    await attempt(() => start(accounts.filter(({ entry }) => !refused.has(`${wanted.originOf(entry.id)}.signer_id`))));

    const [failure = unopened.map(unavailable)[0] ?? (problems.length > 0 ? new ConfigError(problems) : undefined)] = failures;
    if (failure !== undefined) throw failure;
  }

  /** The relayers to look at, each as it is wanted; undefined: it is not. */
  function wantedAmong(touched: Touched): ReadonlyMap<string, RelayerEntry | undefined> {
    const ids = new Set([...touched.relayers, ...waiting, ...moving.keys()]);
    if (touched.networks.size > 0 || touched.signers.size > 0) {
      for (const { id, network, signerId } of directory.relayers())
        if (touched.networks.has(networkIdOf(network)) || touched.signers.has(signerId)) ids.add(id);
    }
    const found = new Map([...ids].map((id) => [id, wanted.relayer(id)]));
    for (const [id, entry] of found) if (entry === undefined) waiting.delete(id);
    return found;
  }

  /** True if the relayer can become what is wanted with its present account and signer. */
  function staysOpen({ signerId, network }: Relayer, entry: RelayerEntry | undefined): boolean {
    return entry?.signerId === signerId && networkIdOf(entry.network) === networkIdOf(network) && isOpenAsWanted(signerId);
  }

  function isOpenAsWanted(signerId: string): boolean {
    const signer = wanted.signer(signerId);
    return signer !== undefined && signers.isFrom(signerId, signer.sealed);
  }

  async function closeUnlessWanted(id: string): Promise<void> {
    const signer = signers.find(id);
    // A relayer that could not be stopped still uses it.
    if (signer === undefined || isOpenAsWanted(id) || directory.relayers().some(({ signerId }) => signerId === id)) return;
    signers.remove(id);
    await signer.close?.();
  }

  function signersToOpen({ signers: touched }: Touched) {
    const used = [...waiting].flatMap((id) => wanted.relayer(id)?.signerId ?? []);
    return [...new Set([...touched, ...used])].flatMap((id) => (signers.find(id) === undefined ? (wanted.signer(id) ?? []) : []));
  }

  /** The relayers whose accounts a new one must not have. */
  function runningOnSameChains(entries: readonly RelayerEntry[]): readonly { readonly entry: Relayer; readonly address: string }[] {
    const ids = new Set(entries.map(({ network }) => networkIdOf(network)));
    return directory.relayers().flatMap((entry) => (ids.has(networkIdOf(entry.network)) ? [{ entry, address: entry.address }] : []));
  }

  async function stop(relayer: Relayer): Promise<void> {
    const chain = directory.chainOf(relayer);
    await engine.close(relayer);
    directory.remove(relayer.id);
    const left = moving.get(relayer.id) ?? [];
    moving.delete(relayer.id);
    for (const one of [chain, ...left]) await chains.release(one);
  }

  async function change(before: Relayer, entry: RelayerEntry): Promise<void> {
    const { id } = entry;
    const { address: _address, disabledReason: _reason, ...asBefore } = before;
    if (!moving.has(id) && isDeepStrictEqual(asBefore, entry)) return;
    const chain = directory.chainOf(before);
    const signer = directory.signerOf(before);
    const next = await chains.acquire(entry.network, nodesOf(entry));
    // The watcher may have disabled it meanwhile.
    const { address, disabledReason } = directory.relayer(id) ?? before;
    directory.put({ relayer: { ...entry, address, disabledReason }, signer, chain: next });
    if (next !== chain) moving.set(id, [...(moving.get(id) ?? []), chain]);
    else await chains.release(next);
    if (moving.has(id)) await openLanes([id]);
  }

  async function start(accounts: readonly FoundAccount[]): Promise<void> {
    const acquired = await Promise.allSettled(accounts.map(({ entry }) => chains.acquire(entry.network, nodesOf(entry))));
    const ids: string[] = [];
    for (const [index, account] of accounts.entries()) {
      const outcome = acquired[index];
      if (outcome?.status !== 'fulfilled') continue;
      directory.put({ relayer: relayerFrom(account), signer: account.signer, chain: outcome.value });
      waiting.delete(account.entry.id);
      moving.set(account.entry.id, []);
      ids.push(account.entry.id);
    }
    // Synchronous up to here: a caller who finds a relayer in the directory finds its lane, too.
    await openLanes(ids);
    for (const outcome of acquired) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async function openLanes(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await engine.open(ids.flatMap((id) => directory.relayer(id) ?? []));
    for (const id of ids) {
      const left = moving.get(id) ?? [];
      moving.delete(id);
      for (const chain of left) await chains.release(chain);
    }
  }

  return {
    start: (all, admit) =>
      reconcile(all, async ({ unopened, problems, ...starting }) => {
        const found = [...unopened.map(problemOf), ...problems];
        if (found.length > 0) throw new ConfigError(found);
        await admit(starting);
      }),
    async follow(stored) {
      const touched = wanted.learn(stored);
      const problems = wanted.problemsOf(touched.relayers);
      if (problems.length > 0) throw new ConfigError(problems);
      await reconcile(touched, async () => undefined);
    },
  };
}

/** What `reconcile` has found when what was no longer wanted has ended. */
interface Found extends Starting {
  readonly unopened: readonly UnopenedSigner[];
  readonly problems: readonly Problem[];
}

function relayerFrom({ entry, address }: FoundAccount): Relayer {
  return { ...entry, address, disabledReason: null };
}

function unavailable({ wanted: { id }, error }: UnopenedSigner): DomainError {
  const sentence = `signer ${id}, which another instance created, cannot be opened by this instance: ${error.message}`;
  return new DomainError('unavailable', 'SIGNER_UNAVAILABLE', sentence, { metadata: { signer_id: id }, retryAfterMs });
}

/** Returns the RPC URLs that a relayer uses: its own if it has any, else its network's. */
function nodesOf({ network, customRpcUrls }: Pick<Relayer, 'network' | 'customRpcUrls'>): readonly RpcUrl[] {
  return customRpcUrls.length > 0 ? customRpcUrls : network.rpcUrls;
}
