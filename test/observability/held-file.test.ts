import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { it } from 'node:test';
import type { HeldTransaction } from '../../src/core/ports/database-state.js';
import { createHeldFile } from '../../src/observability/held-file.js';
import { temporaryFolder } from '../support/temporary-folder.js';

function heldOf(relayer: string, count: number): HeldTransaction[] {
  return Array.from({ length: count }, (_, index) => ({
    relayer,
    transaction: `${relayer}-${index}`,
    nonce: String(index),
    hashes: [`0x${'ab'.repeat(32)}`],
  }));
}

it('held transactions: all lines of thousands are in the file in order, and calls do not wait for the disk', async () => {
  const file = join(await temporaryFolder(), 'held.jsonl');
  let warnings = 0;
  const warn = () => {
    warnings += 1;
  };
  const { keep, written } = createHeldFile(file, { warn, error: (_, message) => assert.fail(message) });
  const lanes = Array.from({ length: 20 }, (_, index) => heldOf(`r${index}`, 1_000));
  const beganMs = performance.now();
  for (const held of lanes) keep(held);
  assert.ok(performance.now() - beganMs < 50);
  assert.equal(warnings, 0, 'nothing is done in this turn of the event loop');
  await written();
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).transaction),
    lanes.flat().map(({ transaction }) => transaction),
  );
  assert.equal(warnings, 20_000);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
});

it('held transactions: a file that cannot be written is an error in the log, and the signed ones are in the log', async () => {
  const told: string[] = [];
  const log = {
    warn: (_: unknown, message: string) => void told.push(message),
    error: (_: unknown, message: string) => void told.push(message),
  };
  const { keep, written } = createHeldFile(await temporaryFolder(), log);
  keep(heldOf('r1', 1));
  await written();
  assert.deepEqual(told, ['a transaction was signed before signing was stopped', 'cannot write HELD_TRANSACTIONS_FILE']);
});
