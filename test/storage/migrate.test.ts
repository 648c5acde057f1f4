import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, test } from 'node:test';
import { postgres, sqlite } from '../../src/storage/sql/dialect.js';
import { migrationNames, releasedSql, sqlOf } from '../support/released-migrations.js';

describe('migrations', () => {
  for (const dialect of [sqlite, postgres]) {
    for (const name of migrationNames) {
      test(`${name} runs the SQL that is committed for ${dialect.name}: a released migration is never edited`, async () => {
        const sql = await sqlOf(dialect, name);
        const file = `${name}.${dialect.name}.sql`;
        assert.equal(sql, releasedSql(file) ?? assert.fail(`commit this as test/storage/released/${file} with the new migration:\n${sql}`));
      });
    }
  }

  test('every migration file is listed and has committed sample rows', () => {
    const files = readdirSync('src/storage/migrations').map((file) => file.replace(/\..*$/, ''));
    assert.deepEqual(migrationNames, files.sort());
    assert.deepEqual(migrationNames, [...migrationNames].sort(), 'they run in the order of their names');
    for (const name of migrationNames) assert.ok(releasedSql(`${name}.rows.sql`), `commit test/storage/released/${name}.rows.sql`);
  });
});
