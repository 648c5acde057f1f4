import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openInstance } from '../../../src/app/open-instance.js';
import { noFiles } from '../../support/no-files.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { silentLog } from '../../support/stored-samples.js';
import { waitFor } from '../../support/wait-for.js';

describe('notes of leases', () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres?.stop());

  /** An instance with one lane, and the notes that it was called with. */
  async function startInstance(databaseUrl: string) {
    const instance = { version: '1.0.0', files: noFiles };
    const opened = await openInstance(databaseUrl, { log: silentLog, instance });
    const notes: (string | null)[] = [];
    const runs = { now: false };
    const work = {
      begin: async () => {
        runs.now = true;
      },
      end: async () => {
        runs.now = false;
      },
      noted: (note: string | null) => void notes.push(note),
    };
    await opened.leases.add('lane', new Map([['lane', work]]));
    await opened.leases.start();
    return { leases: opened.leases, store: opened.store, notes, runs };
  }

  it('notes: the other instances get the note of the one that works, until its work ends, and that one loses it too', async () => {
    const databaseUrl = await postgres.newDatabase();
    const [holder, other] = [await startInstance(databaseUrl), await startInstance(databaseUrl)];
    assert.deepEqual([holder.runs.now, other.runs.now], [true, false]);
    holder.leases.note('lane', 'lane', 'disabled');
    await waitFor('the note', () => other.notes[0]);
    holder.leases.note('lane', 'lane', null);
    await waitFor('its end', () => (other.notes.length === 2 ? true : undefined));
    holder.leases.note('lane', 'lane', 'disabled again');
    await waitFor('another note', () => other.notes[2]);
    const late = await startInstance(databaseUrl);
    await waitFor('the note at an instance that starts later', () => late.notes[0]);

    await holder.leases.stop();
    await waitFor('the lane elsewhere', () => (other.runs.now || late.runs.now ? true : undefined));
    await waitFor('the end of the note', () => (other.notes.length === 4 && late.notes.length === 2 ? true : undefined));
    assert.deepEqual([holder.notes, other.notes, late.notes], [[], ['disabled', null, 'disabled again', null], ['disabled again', null]]);
    for (const { leases, store } of [other, late, holder]) {
      await leases.stop();
      await store.close();
    }
  });
});
