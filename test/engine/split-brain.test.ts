import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it, type TestContext } from 'node:test';
import { DomainError } from '../../src/core/errors/errors.js';
import { ConflictError } from '../../src/core/ports/store/change.js';
import type { Store } from '../../src/core/ports/store/store.js';
import { isFinal } from '../../src/core/records/transaction.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { systemClock } from '../../src/core/work/clock.js';
import { createStore } from '../../src/storage/create-store.js';
import { migrateDatabase } from '../../src/storage/open-store.js';
import { openPostgresBeside } from '../../src/storage/postgres/open-postgres.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import { compileStatements } from '../../src/storage/statements/all-statements.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { readLedger } from '../support/chain-ledger.js';
import { type EvmRig, startEvmRig } from '../support/engine-rig.js';
import { evmFieldsOf, wanted } from '../support/evm.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { createRandom } from '../support/seeded-random.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const leastSends = 120;
const mostSends = 1_200;
/** Fewer prove that the engines hardly met. */
const leastRefused = 20;
/** Replacements have a value from here on, which tells them from first contents. */
const firstReplacement = 1_000_000n;

/** A store without the instance lock and without a fence, which counts the commits that its guards refuse. */
interface UnfencedStore extends Store {
  refused(): number;
}

async function openUnfenced(databaseUrl: string): Promise<UnfencedStore> {
  const store = createStore(await openPostgresBeside(databaseUrl, silentLog), compileStatements(postgres), {
    clock: systemClock,
    log: silentLog,
  });
  let refused = 0;
  return {
    ...store,
    refused: () => refused,
    commit: (changes) =>
      store.commit(changes).catch((error: unknown) => {
        if (error instanceof ConflictError) refused += 1;
        throw error;
      }),
  };
}

let server: TestPostgres;
let anvil: Anvil;
before(async () => {
  [server, anvil] = await Promise.all([startPostgres(), startAnvil({ noMining: true })]);
});
after(async () => {
  await anvil?.stop();
  await server?.stop();
});

/** Two engines that both own the lane of one account, each with a database connection of its own. */
async function twoOwners(test: TestContext): Promise<{ rigs: readonly [EvmRig, EvmRig]; refused: () => number }> {
  const databaseUrl = await server.newDatabase();
  await migrateDatabase(databaseUrl, { log: silentLog });
  const privateKey = randomBytes(32);
  const stores = [await openUnfenced(databaseUrl), await openUnfenced(databaseUrl)] as const;
  const start = async (store: Store) => {
    const rig = await startEvmRig(anvil, {
      folder: await temporaryFolder(),
      privateKey: Buffer.from(privateKey),
      store,
      network: { requiredConfirmations: 4 },
    });
    test.after(() => rig.stop());
    return rig;
  };
  return { rigs: [await start(stores[0]), await start(stores[1])], refused: () => stores[0].refused() + stores[1].refused() };
}

/** Repeats a task until the test has ended. */
function keepDoing(test: TestContext, everyMs: number, task: () => unknown): void {
  const timer = setInterval(() => void task(), everyMs);
  test.after(() => clearInterval(timer));
}

describe('two engines that own the lane of one account at once', () => {
  it('pay every transaction at most once, by the guards of their commits alone, and their records equal the chain', async (test) => {
    const { rigs, refused } = await twoOwners(test);
    const random = createRandom(19);
    const either = () => rigs[random.between(0, 1) as 0 | 1];
    // Reorgs are shorter than the required confirmations.
    const mine = async () => {
      if (random.chance(0.15)) await anvil.rpc('anvil_reorg', [random.between(1, 2), []]).catch(() => undefined);
      else await anvil.mine();
    };
    keepDoing(test, 150, mine);
    // Each engine works on what the other one accepted and changed, as soon as it finds it.
    keepDoing(test, 60, () => {
      for (const { engine } of rigs) engine.storeReturned();
    });
    const ids: string[] = [];
    let replacements = firstReplacement;
    const change = async (id: string): Promise<void> => {
      const { deps, relayer } = either();
      replacements += 1n;
      const valueWei = replacements;
      const changed = random.chance(0.7)
        ? replaceTransaction(deps, relayer, id, wanted({ valueWei }))
        : cancelTransaction(deps, relayer, id);
      // It may be mined or canceled already, or keep changing.
      await changed.catch((error: unknown) => {
        if (!(error instanceof DomainError || error instanceof ConflictError)) throw error;
      });
    };
    for (let sent = 0; sent < leastSends || (refused() < leastRefused && sent < mostSends); sent += 6) {
      const wave = await Promise.all(Array.from({ length: 6 }, (_, index) => either().send({ valueWei: BigInt(sent + index + 1) })));
      const [first, second] = wave;
      ids.push(...wave.map(({ transaction }) => transaction.id));
      await Promise.all([first, second, first].map((view) => change(view?.transaction.id ?? assert.fail())));
    }
    await waitFor(
      'every transaction to be final',
      async () => {
        const views = await Promise.all(ids.map((id) => rigs[0].view(id)));
        return views.every(({ transaction }) => isFinal(transaction.status)) ? true : undefined;
      },
      120_000,
    );

    const { transactions, byHash } = await readLedger(anvil, rigs[0].relayer.address);
    const expected = new Set<string>();
    for (const id of ids) {
      const { transaction, shown } = await rigs[0].view(id);
      const attempts = await rigs[0].attempts(id);
      const onChain = attempts.filter(({ hash }) => byHash.has(hash));
      assert.equal(onChain.length, 1 - Number(transaction.nonce === null), `${id} is ${transaction.status}: ${transaction.statusReason}`);
      if (transaction.nonce === null) {
        assert.equal(transaction.status, 'canceled');
        continue;
      }
      assert.equal(shown?.hash, onChain[0]?.hash);
      expected.add(shown?.hash ?? '');
      assert.equal(transaction.status, onChain[0]?.purpose === 'cancel' ? 'canceled' : 'confirmed');
      assert.equal(byHash.get(shown?.hash ?? '')?.value, evmFieldsOf(shown).valueWei);
    }
    const unknown = transactions.filter(({ hash, value }) => !expected.has(hash) && value > 0n);
    assert.deepEqual(unknown, [], 'the chain has a payment that no record shows');
    const values = transactions.map(({ value }) => value).filter((value) => value > 0n);
    assert.equal(new Set(values).size, values.length, 'a content was paid twice');
    test.diagnostic(`${transactions.length} transactions on chain, ${refused()} commits refused by guards`);
    assert.ok(refused() >= leastRefused, `the guards refused only ${refused()} commits`);
  });
});
