import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StoreAwayError, StoreBrokenError } from '../../../src/core/ports/store/change.js';
import { asStoreAway } from '../../../src/storage/database/store-away.js';

const withCode = (code: string) => Object.assign(new Error('it failed'), { code });

const away: Readonly<Record<string, Error>> = {
  'SQLite: an I/O error': withCode('SQLITE_IOERR_WRITE'),
  'SQLite: locked': withCode('SQLITE_BUSY'),
  'SQLite: locked by a snapshot': withCode('SQLITE_BUSY_SNAPSHOT'),
  'PostgreSQL: the connection was lost': withCode('08006'),
  'PostgreSQL: too many connections': withCode('53300'),
  'PostgreSQL: shut down by an administrator': withCode('57P01'),
  'PostgreSQL: starting': withCode('57P03'),
  'PostgreSQL: a statement timeout': withCode('57014'),
  'PostgreSQL: an I/O error': withCode('58030'),
  'the socket was reset': withCode('ECONNRESET'),
  'no address of the host answers': Object.assign(new AggregateError([withCode('ECONNREFUSED')]), { code: 'ECONNREFUSED' }),
  'DNS does not answer': withCode('EAI_AGAIN'),
  'the driver lost its connection': new Error('Connection terminated unexpectedly'),
  'the driver waited too long for an answer': new Error('Query read timeout'),
  'the driver waited too long for a connection': new Error('timeout exceeded when trying to connect'),
  'the driver lost its connection earlier': new Error('Client has encountered a connection error and is not queryable'),
};

/** With whether any write fails because of it. */
const broken: Readonly<Record<string, readonly [Error, boolean]>> = {
  'SQLite: the disk is full': [withCode('SQLITE_FULL'), true],
  'SQLite: a read-only file system': [withCode('SQLITE_READONLY'), true],
  'SQLite: the file was moved': [withCode('SQLITE_READONLY_DBMOVED'), true],
  'SQLite: a missing table': [withCode('SQLITE_ERROR'), false],
  'SQLite: a corrupt file': [withCode('SQLITE_CORRUPT'), false],
  'PostgreSQL: the disk is full': [withCode('53100'), true],
  'PostgreSQL: a standby': [withCode('25006'), true],
  'PostgreSQL: a number of a sequence that is taken': [withCode('23505'), false],
  'PostgreSQL: a missing table': [withCode('42P01'), false],
  'PostgreSQL: a corrupt index': [withCode('XX002'), false],
};

const others: Readonly<Record<string, Error>> = {
  'SQLite: a constraint': withCode('SQLITE_CONSTRAINT_UNIQUE'),
  'PostgreSQL: a value': withCode('22P05'),
  'PostgreSQL: a foreign key': withCode('23503'),
  'a mistake in an argument': Object.assign(new TypeError('no'), { code: 'ERR_INVALID_ARG_TYPE' }),
  'any other error': new Error('the connection of two facts'),
};

describe('errors of a database that is away', () => {
  for (const [name, error] of Object.entries(away)) {
    it(`${name}: the store is away`, () => {
      const told = asStoreAway(error);
      assert.ok(told instanceof StoreAwayError && !(told instanceof StoreBrokenError));
      assert.equal(told.cause, error);
    });
  }

  for (const [name, [error, failsAllWrites]] of Object.entries(broken)) {
    it(`${name}: the store is broken`, () => {
      const told = asStoreAway(error);
      assert.ok(told instanceof StoreBrokenError);
      assert.deepEqual([told.cause, told.failsAllWrites], [error, failsAllWrites]);
    });
  }

  for (const [name, error] of Object.entries(others)) {
    it(`${name}: the store is not away`, () => assert.equal(asStoreAway(error), error));
  }
});
