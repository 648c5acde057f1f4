import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger, type LogLevel } from '../../src/observability/logger.js';

/** A log and its lines. */
function recorded(level: LogLevel = 'info') {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({ level, destination: { write: (line: string) => lines.push(JSON.parse(line)) } });
  return { log, lines };
}

test('a log line has a level, an ISO time, its fields and a message', () => {
  const { log, lines } = recorded();
  log.info({ requestId: 'r-1', valueWei: 10n ** 20n }, 'accepted');
  const { time, ...rest } = lines[0] ?? {};
  assert.deepEqual(rest, { level: 'info', requestId: 'r-1', valueWei: '100000000000000000000', msg: 'accepted' });
  assert.equal(new Date(String(time)).toISOString(), time);
});

test('log lines below the minimum level are not written', () => {
  const { log, lines } = recorded('warn');
  log.debug({}, 'a');
  log.info({}, 'b');
  log.warn({}, 'c');
  log.error({}, 'd');
  assert.deepEqual(
    lines.map(({ level, msg }) => [level, msg]),
    [
      ['warn', 'c'],
      ['error', 'd'],
    ],
  );
});

test('secrets are redacted at any depth, in any spelling and in errors', () => {
  const { log, lines } = recorded();
  const error = Object.assign(new Error('refused', { cause: new Error('deeper') }), { request: { headers: { authorization: 'hunter2' } } });
  const fields = {
    apiKey: 'hunter2',
    headers: { Authorization: 'hunter2', 'X-Api-Key': 'hunter2', Cookie: 'hunter2', accept: 'json' },
    signers: [{ id: 'a', config: { passphrase: { type: 'plain', value: 'hunter2' }, private_key: 'hunter2' } }],
    notification: { signing_key: 'hunter2', signingKey: 'hunter2', sealedSigningKey: 'hunter2' },
    STORAGE_ENCRYPTION_KEY: 'hunter2',
    key: Buffer.from('hunter2'),
    err: error,
  };
  log.error(fields, 'refused');
  const text = JSON.stringify(lines[0]);
  assert.ok(!text.includes('hunter2'), text);
  assert.equal(text.split('[redacted]').length - 1, 11);
  assert.ok(text.includes('"accept":"json"'));
  assert.ok(text.includes('refused: deeper'));
  // The caller's objects are unchanged.
  assert.equal(fields.headers.Authorization, 'hunter2');
  assert.equal(error.request.headers.authorization, 'hunter2');
});

test('an error that quotes its cause is logged without saying it twice', () => {
  const { log, lines } = recorded();
  const driver = new Error('connect ECONNREFUSED 127.0.0.1:9');
  const away = new Error(`cannot connect: ${driver.message}`, { cause: driver });
  log.warn({ err: new Error('the start waits', { cause: away }) }, 'waiting');
  assert.equal((lines[0] as { err: Error }).err.message, 'the start waits: cannot connect: connect ECONNREFUSED 127.0.0.1:9');
});

test('a log line with a cyclic object is written', () => {
  const { log, lines } = recorded();
  const loop: Record<string, unknown> = { name: 'loop' };
  loop.self = loop;
  log.info({ loop }, 'still written');
  assert.equal(lines[0]?.msg, 'still written');
});

test('the fast path for flat lines writes the same line as pino', () => {
  const written: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line: string) => written.push(line) } });
  const fields = {
    path: '/a"b\\c\n\u2028é😀',
    status: 200,
    ms: 0.1,
    less: -0,
    none: Number.NaN,
    valueWei: 2n ** 70n,
    'odd "name"': true,
    absent: undefined,
    reason: null,
    'X-Api-Key': 'hunter2',
    password: null,
  };
  log.info(fields, 'said "so"');
  log.warn(fields, 'said "so"');
  // Level and time aside.
  const [short = '', pinos = ''] = written.map((line) => line.replace(/^\{"level":"\w+","time":"[^"]*",/, '{'));
  assert.deepEqual(JSON.parse(short), JSON.parse(pinos));
  assert.ok(!short.includes('hunter2'));
  assert.ok(short.endsWith('\n'));
});
