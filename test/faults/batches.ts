import { parseEther } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { startInstances } from '../support/instances.js';
import { paymentBody as stellarPayment } from '../support/network-service.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome, type LaunchedService, type RunningService } from '../support/service.js';
import { paymentBody as solanaPayment } from '../support/solana-body.js';
import { waitFor } from '../support/wait-for.js';
import { openRig, openSolanaRig, openStellarRig, setBalance } from './rig.js';
import type { FaultRun, FaultSuite } from './suite.js';

/* Batches of 100, while processes are killed at random moments: of each batch all transactions are stored or none, and all if it was answered. */

const members = 100;
/** Sent at the same time, so that commits are shared. */
const batchesAtOnce = 4;
const relayerPath = '/relayers/r1/transactions';
const limitMs = 60_000;

/** A service that batches are sent to. */
interface Target {
  /** A member that pays `value`; large, so that the commit takes long. */
  member(value: bigint): object;
  /** Where the next batch goes. */
  url(batch: number): Promise<string>;
  /** Ends a process as a power cut does; resolves when all can be called again. */
  strike(): Promise<void>;
  /** What the receiver has on the chain; absent: not examined. */
  paid?(): Promise<bigint>;
}

function batchesSuite(open: (run: FaultRun) => Promise<Target>): FaultSuite {
  return async (run) => {
    const target = await open(run);
    const rounds = run.isShort ? 3 : 40;
    const figures = { rounds, batches: 0, answered: 0, 'stored whole, not answered': 0, 'not stored': 0 };
    let stored = 0n;
    let usualMs = 0;
    for (let round = 0; round <= rounds; round += 1) {
      const startedMs = performance.now();
      const sent = Array.from({ length: batchesAtOnce }, (_, at) => sendBatch(run, target, `${round}-${at}`, at));
      // The first round shows how long batches take when nothing strikes.
      if (round > 0) {
        const struckAfterMs = run.random.between(0, Math.ceil(usualMs * 1.2));
        await new Promise((done) => setTimeout(done, struckAfterMs));
        await target.strike();
      }
      const answers = await Promise.all(sent);
      if (round === 0) usualMs = performance.now() - startedMs;
      for (const [at, isAnswered] of answers.entries()) {
        const name = `${round}-${at}`;
        const count = await countOf(target, name);
        figures.batches += 1;
        if (isAnswered) figures.answered += 1;
        else figures[count === 0 ? 'not stored' : 'stored whole, not answered'] += 1;
        if (count !== members && (isAnswered || count !== 0))
          run.violation(`${count} of ${members} transactions of a batch are stored`, { name, isAnswered });
        // The caller sends it again with the same key, and has it once; later if too many wait to be signed.
        const again = async () => ((await sendBatch(run, target, name, at)) ? true : undefined);
        await waitFor('a batch that was sent again to be accepted', again, 4 * limitMs);
        const after = await countOf(target, name);
        if (after !== members) run.violation(`${after} of ${members} transactions of a batch are stored after it was sent again`, { name });
        stored += BigInt(after);
      }
    }
    if (target.paid !== undefined) {
      const { paid } = target;
      await waitFor('every transaction to be paid', async () => ((await paid()) >= stored ? true : undefined), 4 * limitMs);
      const atEnd = await paid();
      if (atEnd !== stored) run.violation('the receiver has another amount than was accepted', { atEnd, stored });
    }
    return figures;
  };
}

/** True if it was accepted. */
async function sendBatch(run: FaultRun, target: Target, name: string, at: number): Promise<boolean> {
  const transactions = Array.from({ length: members }, (_, member) => ({
    ...target.member(1n),
    external_id: `${name}-${member}`,
    labels: [{ key: 'batch', value: name }],
  }));
  const headers = { 'idempotency-key': `batch-${name}` };
  const send = (url: string) => rest(url, 'POST', `${relayerPath}/batch`, { transactions }, headers);
  const answer = await target
    .url(at)
    .then(send)
    .catch(() => null);
  if (answer !== null && answer.status >= 400 && answer.status < 500 && answer.status !== 429)
    run.violation('a batch is refused', answer.text.slice(0, 300));
  return answer?.status === 200;
}

async function countOf(target: Target, name: string): Promise<number> {
  return waitFor(
    'a list to be answered',
    async () => {
      const query = `?per_page=1&label=${encodeURIComponent(`batch:${name}`)}`;
      const answer = await rest(await target.url(0), 'GET', `${relayerPath}${query}`).catch(() => null);
      return answer?.status === 200 ? Number(answer.body.pagination.total_items) : undefined;
    },
    limitMs,
  );
}

/** One process, started again each time. */
async function single(launch: () => LaunchedService): Promise<Pick<Target, 'url' | 'strike'>> {
  let launched = launch();
  let service: RunningService = await launched.listening;
  return {
    url: () => Promise.resolve(service.baseUrl),
    async strike() {
      await launched.kill();
      launched = launch();
      service = await launched.listening;
    },
  };
}

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

const evmMember: Target['member'] = (value) => ({ to: receiver, value: String(value), data: `0x${'11'.repeat(1_000)}` });

/** On three networks and both databases. */
export const batches = {
  sqlite: batchesSuite(async (run) => {
    const { anvil, home, launch } = await openRig(run, { anvil: { blockTime: 0.5 } });
    await setBalance(anvil, home.address, parseEther('1000000'));
    await setBalance(anvil, receiver, 0n);
    return {
      ...(await single(launch)),
      member: evmMember,
      paid: async () => BigInt((await anvil.rpc('eth_getBalance', [receiver, 'latest'])) as string),
    };
  }),
  postgres: batchesSuite(async (run) => {
    const anvil = await startAnvil({ blockTime: 0.5 });
    run.atEnd(() => anvil.stop());
    const postgres = await startPostgres();
    run.atEnd(() => postgres.stop());
    const home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: await postgres.newDatabase() } });
    run.atEnd(() => home.remove());
    await setBalance(anvil, home.address, parseEther('1000000'));
    await setBalance(anvil, receiver, 0n);
    const instances = await startInstances(home, 3);
    run.atEnd(() => instances.stop());
    for (const { process } of instances.all) run.keepLog(() => process().output());
    return {
      member: evmMember,
      async url(batch) {
        const wanted = instances.all[batch % instances.all.length];
        return wanted !== undefined && (await wanted.isReady()) ? wanted.baseUrl : (await instances.ready()).baseUrl;
      },
      async strike() {
        await instances.all[run.random.between(0, instances.all.length - 1)]?.process().kill();
        await instances.ready();
      },
      paid: async () => BigInt((await anvil.rpc('eth_getBalance', [receiver, 'latest'])) as string),
    };
  }),
  /** The members are too many for the chain's speed: only what is stored is examined. */
  stellar: batchesSuite(async (run) => {
    const rig = await openStellarRig(run, { node: { closeEveryMs: 1_000 } });
    const body = stellarPayment(rig.receiver, 1n) as { readonly operations: readonly object[] };
    const operations = repeated(body.operations);
    return { ...(await single(rig.launch)), member: () => ({ ...body, operations }) };
  }),
  solana: batchesSuite(async (run) => {
    const rig = await openSolanaRig(run, { chain: { slotMs: 400 } });
    const { instructions } = solanaPayment(rig.home.address, rig.receiver, 1n) as { readonly instructions: readonly object[] };
    return { ...(await single(rig.launch)), member: () => ({ instructions: repeated(instructions) }) };
  }),
};

/** A batch of members of this size stays below the limits of a request in bytes and in values. */
function repeated(items: readonly object[]): readonly object[] {
  return Array.from({ length: 18 }, () => items).flat();
}
