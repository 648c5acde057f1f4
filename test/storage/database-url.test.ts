import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressFromUrl } from '../../src/storage/database-url.js';

describe('database URL', () => {
  test('database URL: accepts the file of a SQLite database', () => {
    for (const file of ['./data/relayer.db', 'relayer.db', '/var/lib/relayer.db', '../a b.db', '///var/lib/relayer.db']) {
      assert.deepEqual(addressFromUrl(`sqlite:${file}`), { dialect: 'sqlite', file });
    }
  });

  test('database URL: accepts the URL of a PostgreSQL database', () => {
    for (const url of ['postgres://u:p@localhost/relayer', 'postgresql://u@h:5433/d?sslmode=require']) {
      assert.deepEqual(addressFromUrl(url), { dialect: 'postgres', connectionString: url });
    }
  });

  test('database URL: rejects other texts with an error that lists the valid forms and omits the password', () => {
    const wrong = [
      '',
      'sqlite:',
      'sqlite::memory:',
      'sqlite://host/secret.db',
      'mysql://u:secret@h/d',
      './secret.db',
      'postgres://u:secret@h:port/d',
    ];
    for (const url of wrong) {
      assert.throws(
        () => addressFromUrl(url),
        (error) => error instanceof Error && /database URL/.test(error.message) && !error.message.includes('secret'),
      );
    }
  });
});
