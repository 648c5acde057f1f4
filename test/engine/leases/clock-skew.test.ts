import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { openInstance } from '../../../src/app/open-instance.js';
import { SigningHeldError } from '../../../src/core/ports/database-state.js';
import type { Clock } from '../../../src/core/work/clock.js';
import type { Log } from '../../../src/core/work/log.js';
import { noFiles } from '../../support/no-files.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { anAttempt, aTransaction, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { waitFor } from '../../support/wait-for.js';

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

const unit = 'evm:1/0x1';

/** An instance with one unit of work, whose clock can be moved, and whose audit log can fail. */
async function joined(test: TestContext, databaseUrl: string, shiftMs = 0) {
  const shift = { ms: shiftMs };
  const audit = { isFailing: false };
  const clock: Clock = { nowMs: () => Date.now() + shift.ms };
  const logged: string[] = [];
  const keep: Log['warn'] = (_, message = '') => void logged.push(message);
  const log: Log = { ...silentLog, warn: keep, error: keep, info: keep };
  const opened = await openInstance(databaseUrl, {
    log,
    clock,
    ownObstacle: () => (audit.isFailing ? 'no audit log' : null),
    instance: { version: '1.0.0', files: noFiles },
  });
  const { store, leases } = opened;
  test.after(async () => {
    await leases.stop();
    await store.close();
  });
  let isWorking = false;
  const begin = async () => {
    isWorking = true;
  };
  const end = async () => {
    isWorking = false;
  };
  await leases.add('lane', new Map([[unit, { begin, end }]]));
  await leases.start();
  const sign = async (id: string) => {
    await store.commit([store.change.insertTransaction(aTransaction({ id }))]);
    await store.commit([store.change.insertAttempt(anAttempt({ transactionId: id }))]);
  };
  return { ...opened, shift, audit, logged, sign, isWorking: () => isWorking };
}

describe('an instance that must not sign by itself', () => {
  it('its work ends at once, another instance takes it over, and it may work again later', async (test) => {
    const databaseUrl = await server.newDatabase();
    const [failing, other] = [await joined(test, databaseUrl), await joined(test, databaseUrl)];
    assert.equal(failing.isWorking(), true);
    failing.audit.isFailing = true;
    await assert.rejects(failing.sign('held'), (error) => error instanceof SigningHeldError && /no audit log/.test(error.message));
    await waitFor('the other one to work', async () => (other.isWorking() && !failing.isWorking() ? true : undefined), 30_000);
    await other.sign('sent');
    assert.deepEqual([failing.sharing.ownHold(), failing.sharing.hold(), other.sharing.ownHold()], ['no audit log', null, null]);
    failing.audit.isFailing = false;
    assert.equal(failing.sharing.ownHold(), null);
  });

  it('alone on SQLite, its work ends, listeners hear of it, and the work begins again', async (test) => {
    const one = await joined(test, `sqlite:${join(await temporaryFolder(), 'relayer.db')}`);
    let heard = 0;
    one.sharing.onHold(() => {
      heard += 1;
    });
    for (const times of [1, 2]) {
      one.audit.isFailing = true;
      await assert.rejects(one.sign(`held ${times}`), SigningHeldError);
      await waitFor('the end of the work', () => (!one.isWorking() && heard === times) || undefined);
      assert.deepEqual([one.sharing.hold(), one.leases.held().get('lane')], ['no audit log', 0]);
      one.audit.isFailing = false;
      await waitFor('the work', () => one.isWorking() || undefined);
      assert.equal(one.leases.held().get('lane'), 1);
    }
  });
});

describe('the clocks of an instance and of the database', () => {
  for (const ms of [40_000, -40_000])
    it(`nothing is signed while the own clock is ${ms / 1_000} s off, and signing goes on when it is right again`, async (test) => {
      const databaseUrl = await server.newDatabase();
      const one = await joined(test, databaseUrl);
      assert.deepEqual([one.isWorking(), one.sharing.ownHold(), one.sharing.clockDifference()], [true, null, null]);
      one.shift.ms = ms;
      // At once, before the next look.
      await assert.rejects(
        one.sign('held'),
        (error) => error instanceof SigningHeldError && /clocks .* differ by more than 30 s/.test(error.message),
      );
      await waitFor('it to end its work', async () => (one.isWorking() ? undefined : true));
      assert.match(one.sharing.hold() ?? '', /differ by more than 30 s/);
      assert.match(one.sharing.clockDifference() ?? '', ms > 0 ? /is (39|40)\.\d s ahead of/ : /is (39|40)\.\d s behind/);
      one.shift.ms = 0;
      await waitFor('it to work again', async () => (one.isWorking() ? true : undefined));
      await one.sign('sent');
      assert.deepEqual([one.sharing.ownHold(), one.sharing.clockDifference()], [null, null]);
      assert.ok(one.logged.includes('this instance signs nothing until that is corrected'));
      assert.ok(one.logged.includes('the clocks of this instance and of the database agree again'));
    });

  it('an instance whose clock is right takes over the work of one whose clock is wrong', async (test) => {
    const databaseUrl = await server.newDatabase();
    const [wrong, right] = [await joined(test, databaseUrl), await joined(test, databaseUrl)];
    wrong.shift.ms = 600_000;
    await waitFor('the other one to work', async () => (right.isWorking() && !wrong.isWorking() ? true : undefined), 30_000);
    await right.sign('sent');
    // It does not say that no instance signs.
    assert.deepEqual([right.sharing.hold(), wrong.sharing.hold(), right.sharing.ownHold()], [null, null, null]);
    assert.notEqual(wrong.sharing.ownHold(), null);
  });

  it('a difference of seconds is shown and logged, and stops nothing', async (test) => {
    const one = await joined(test, await server.newDatabase(), 5_000);
    assert.match(one.sharing.clockDifference() ?? '', /^the clock of this instance is (4\.\d|5\.0) s ahead of the database's$/);
    assert.ok(one.logged.some((message) => /s ahead of the database's; correct the clock that is wrong$/.test(message)));
    assert.ok(one.sharing.dangers().some((danger) => /s ahead of the database's; correct the clock that is wrong$/.test(danger)));
    await one.sign('sent');
    // The time of the database decides together with the own one.
    assert.ok(Math.abs((one.sharing.timeMs() ?? 0) - Date.now()) < 1_000);
  });
});

describe('a database whose commits wait for no standby', () => {
  const instance = { version: '1.0.0', files: noFiles };

  it('is refused if a standby is required', async () => {
    const opening = openInstance(await server.newDatabase(), { log: silentLog, instance, requiresStandby: true });
    await assert.rejects(opening, /synchronous_standby_names of the database is empty, and REQUIRE_SYNCHRONOUS_STANDBY is true/);
  });

  it('is logged once there are two instances, with every other setting that can lose commits', async (test) => {
    const databaseUrl = await server.newDatabase();
    const one = await joined(test, databaseUrl);
    const unsafe = () => Object.fromEntries(one.sharing.unsafeSettings());
    // The server of the tests runs without fsync.
    assert.deepEqual(unsafe(), { fsync: true, full_page_writes: false, synchronous_standby_names: false });
    await joined(test, databaseUrl);
    const about = (name: string) => one.logged.filter((message) => message.startsWith(`${name} is `)).length;
    await waitFor('the warning', async () => (about('synchronous_standby_names') > 0 ? true : undefined));
    assert.deepEqual([about('fsync'), about('full_page_writes'), about('synchronous_standby_names')], [1, 0, 1]);
    assert.deepEqual(unsafe(), { fsync: true, full_page_writes: false, synchronous_standby_names: true });
  });
});
