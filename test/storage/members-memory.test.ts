import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../../src/core/work/clock.js';
import { createMembers } from '../../src/storage/postgres/postgres-members.js';
import { BoundChange } from '../../src/storage/sql/bound-change.js';
import { postgres } from '../../src/storage/sql/dialect.js';
import { compileStatements } from '../../src/storage/statements/all-statements.js';
import { deferred } from '../support/deferred.js';
import { silentLog } from '../support/stored-samples.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The first looks compile code. */
const firstLooks = 5_000;
const looks = 30_000;
const maxBytesPerLook = 20;

it('an instance that looks at the others for days keeps nothing of each look', async () => {
  const member = { number: 2, host: 'h', pid: 1, since_ms: 0, version: null, config_hashes: null, backend_pid: 1, backend_started: 's' };
  const row = { ...member, state: 'sharing', isConnected: true, beat: null, seenAt: null, isBusy: false } as const;
  let looked = 0;
  let paused = deferred();
  let goOn = deferred();
  const members = createMembers({
    openObserver: async () => ({
      look: async () => [row],
      end: async () => undefined,
      tell: async () => undefined,
      close: async () => undefined,
    }),
    statements: compileStatements(postgres),
    database: { own: async () => ({ number: 2, token: 't' }), isRemoved: () => false, query: async () => [], onReturn: () => undefined },
    join: () => ({ own: { number: 2, token: 't' }, change: new BoundChange('join', []) }),
    configHashes: new Map(),
    commit: async () => undefined,
    clock: systemClock,
    timers: {
      after(_, task) {
        looked += 1;
        const go = () => void setImmediate(task);
        if (looked % looks !== firstLooks) go();
        else {
          paused.resolve();
          void goOn.promise.then(go);
        }
        return () => undefined;
      },
    },
    log: silentLog,
  });
  await members.join();
  await members.start();
  await paused.promise;
  const before = heapBytes();
  paused = deferred();
  const first = goOn;
  goOn = deferred();
  first.resolve();
  await paused.promise;
  const perLook = (heapBytes() - before) / looks;
  goOn.resolve();
  await members.stop();
  assert.ok(perLook < maxBytesPerLook, `it keeps ${perLook.toFixed(0)} bytes of each`);
});

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
