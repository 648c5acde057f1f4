import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sqlite } from '../../../src/storage/sql/dialect.js';
import { statement } from '../../../src/storage/sql/statement.js';

it('SQLite: a limit is no placeholder alone, with which a statement would be prepared at each run', () => {
  const limited = statement<{ limit: number }, { id: string }>('limited', ({ limit }) =>
    sqlite.builder.selectFrom('api_keys').select('id').orderBy('id').limit(limit),
  );
  assert.match(limited.sql, / limit \? \+ 0$/);
});
