import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SigningHeldError } from '../../../src/core/ports/database-state.js';
import { ConflictError } from '../../../src/core/ports/store/change.js';
import { systemIds } from '../../../src/core/records/ids.js';
import { type Spend, windowOf } from '../../../src/core/records/judgement.js';
import type { SpendLimit } from '../../../src/core/records/spending-rule.js';
import { createSpendLedger } from '../../../src/core/rules/spend-ledger.js';
import { reserveSignature } from '../../../src/core/rules/typed-data-rules.js';
import { openStore } from '../../../src/storage/open-store.js';
import { noBlockTimes } from '../../support/block-times.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const limit: SpendLimit = { asset: 'native', amount: 1_000n, windowMs: 3_600_000, per: 'relayer' };
const spend: Spend = {
  field: 'value',
  window: windowOf('permits', limit, { apiKeyId: 'k' }),
  limit,
  amount: 600n,
  until: { ms: nowMs + 60_000, field: 'deadline' },
};

describe('the reservation of a signature', () => {
  for (const { when, holds, isCounted } of [
    { when: 'before it', holds: [true], isCounted: false },
    { when: 'during its commit', holds: [false, true], isCounted: true },
    { when: 'never', holds: [false, false], isCounted: true },
  ])
    it(`a hold that begins ${when}`, async (test) => {
      const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
      test.after(() => store.close());
      const ledger = createSpendLedger({ store, clock: { nowMs: () => nowMs }, blockTimes: noBlockTimes, ids: systemIds });
      const looks = [...holds];
      const ownHold = () => (looks.shift() === true ? 'the database lacks commits' : null);
      const reserved = reserveSignature({ ledger, store, database: { ownHold } }, 'r1', { ruleId: 'permits', spends: [spend] });
      if (holds.includes(true)) await assert.rejects(reserved, SigningHeldError);
      else await reserved;
      assert.equal((await store.read.spendWindows('r1', [spend.window])).length, isCounted ? 1 : 0);
      assert.deepEqual(looks, [], 'each look was made');
    });

  it('a hold that only the database knows', async (test) => {
    const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
    test.after(() => store.close());
    const ledger = createSpendLedger({ store, clock: { nowMs: () => nowMs }, blockTimes: noBlockTimes, ids: systemIds });
    const reserve = () =>
      reserveSignature({ ledger, store, database: { ownHold: () => null } }, 'r1', { ruleId: 'permits', spends: [spend] });
    await store.commit([store.change.recordRewind('another instance has found it', '')]);
    await assert.rejects(reserve(), SigningHeldError);
    assert.deepEqual(await store.read.spendWindows('r1', [spend.window]), []);
  });

  it('another error of the commit is thrown as it is, and nothing is signed', async (test) => {
    const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
    test.after(() => store.close());
    const error = new ConflictError('insertSpendWindow');
    const ledger = { withReserved: () => Promise.reject(error) };
    const deps = { ledger, store, database: { ownHold: () => null } };
    await assert.rejects(reserveSignature(deps, 'r1', { ruleId: 'permits', spends: [spend] }), error);
  });

  it('what counts against no limit is signed during a hold, too', async (test) => {
    const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
    test.after(() => store.close());
    const ledger = { withReserved: () => assert.fail('it reserves nothing') };
    await reserveSignature({ ledger, store, database: { ownHold: () => 'held' } }, 'r1', { ruleId: null, spends: [] });
  });
});
