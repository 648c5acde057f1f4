import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { parseEther } from 'ethers';
import { type App, startApp } from '../../src/app/app.js';
import { openInstance } from '../../src/app/open-instance.js';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import { type Change, ConflictError } from '../../src/core/ports/store/change.js';
import { createSoleLeases } from '../../src/engine/leases/sole.js';
import { audit } from '../faults/audit.js';
import { otherReceiver, paymentOf } from '../faults/payment.js';
import { untilEverythingIsFinal } from '../faults/until.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { deferred } from '../support/deferred.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { createRelayerClient } from '../support/relayer-client.js';
import { createRandom } from '../support/seeded-random.js';
import { createServiceHome, type ServiceHome } from '../support/service.js';
import { silentLog } from '../support/stored-samples.js';

const payments = 120;

/** An instance that runs every lane, whichever instance has the leases. */
interface Owner {
  readonly app: App;
  readonly baseUrl: string;
  /** The number of attempts that it stored, and of its commits that a guard refused. */
  signed(): number;
  refused(): number;
}

/**
 * When an owner has stored its first attempts, its next ones wait until the other owner has stored some. Otherwise one of them may come first with every
 * attempt. `own` is resolved by the first attempts of this owner, `other` by those of the other one.
 */
interface FirstAttempts {
  readonly own: ReturnType<typeof deferred>;
  readonly other: ReturnType<typeof deferred>;
}

async function startOwner(test: TestContext, home: ServiceHome, hearsNews: boolean, { own, other }: FirstAttempts): Promise<Owner> {
  const { settings, config } = await loadConfiguration(home.env);
  let signed = 0;
  let refused = 0;
  const app = await startApp(settings, config, silentLog, {
    async openInstance(url, options) {
      const opened = await openInstance(url, options);
      const alone = createSoleLeases();
      const commit = async (changes: readonly Change[]) => {
        const attempts = changes.filter(({ name }) => name === 'insertAttempt').length;
        if (attempts > 0 && signed > 0) await other.promise;
        try {
          await opened.store.commit(changes);
        } catch (error) {
          if (error instanceof ConflictError) refused += 1;
          throw error;
        }
        signed += attempts;
        if (attempts > 0) own.resolve();
      };
      return {
        ...opened,
        store: { ...opened.store, commit },
        leases: {
          ...alone,
          async start() {
            await alone.start();
            if (hearsNews) await opened.leases.start();
          },
          async stop() {
            await alone.stop();
            if (hearsNews) await opened.leases.stop();
          },
        },
      };
    },
  });
  test.after(() => app.stop());
  return { app, baseUrl: `http://127.0.0.1:${app.port}`, signed: () => signed, refused: () => refused };
}

describe('two instances that both run the same lane', () => {
  let anvil: Anvil;
  let postgres: TestPostgres;
  before(async () => {
    [anvil, postgres] = await Promise.all([startAnvil({ blockTime: 1 }), startPostgres()]);
  });
  after(() => Promise.all([anvil?.stop(), postgres?.stop()]));

  for (const [name, hearsNews] of [
    ['and hear of each other', true],
    ['and hear nothing of each other', false],
  ] as const) {
    it(`${name}: the guards of the commits alone let every payment be made once`, async (test) => {
      const home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: await postgres.newDatabase() } });
      test.after(() => home.remove());
      await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
      const [first, second] = [deferred(), deferred()];
      const owners = [
        await startOwner(test, home, hearsNews, { own: first, other: second }),
        await startOwner(test, home, hearsNews, { own: second, other: first }),
      ];
      const clients = owners.map(({ baseUrl }) => createRelayerClient(baseUrl));
      const random = createRandom(7);
      const client = () => clients[random.between(0, clients.length - 1)] ?? assert.fail();

      const violations: unknown[] = [];
      const run = { violation: (...what: unknown[]) => void violations.push(what) };
      const sent: string[] = [];
      const changed = new Set<string>();
      await Promise.all(
        Array.from({ length: payments }, async (_, index) => {
          const { status, text, record } = await client().send(paymentOf(index));
          assert.ok(record !== null, `a send was answered ${status}: ${text}`);
          sent.push(record.id);
          if (!random.chance(0.3)) return;
          changed.add(record.id);
          const answer = random.chance(0.7)
            ? await client().replace(record.id, { to: otherReceiver, value: 1_000_000_000 + index, speed: 'fast' })
            : await client().cancel(record.id);
          // The transaction may be mined by now, or another change may have been faster.
          assert.ok([200, 400, 409].includes(answer.status), answer.text);
        }),
      );
      const records = await untilEverythingIsFinal(run, client(), 60_000);
      const ledger = await audit(run, { anvil, account: home.address, client: client() });
      assert.deepEqual(violations, []);
      assert.deepEqual(records.map(({ id }) => id).sort(), [...sent].sort());
      for (const { id, status } of records) if (!changed.has(id)) assert.equal(status, 'confirmed', id);
      assert.deepEqual(
        ledger.transactions.map(({ nonce }) => nonce),
        ledger.transactions.map((_, index) => index),
      );
      test.diagnostic(owners.map(({ signed, refused }) => `signed ${signed()}, refused ${refused()}`).join('; '));
      // Both worked on the lane, and came in each other's way.
      assert.ok(owners.every(({ signed }) => signed() > 0));
      assert.ok(owners.some(({ refused }) => refused() > 0));
    });
  }
});
