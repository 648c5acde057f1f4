import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRefusalAudit } from '../../../src/api/contract/audit.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { Principal } from '../../../src/core/records/principal.js';
import { healthWithoutFile } from '../../../src/core/work/log.js';

function recorded() {
  const lines: { readonly keyId: string | null; readonly suppressed?: number }[] = [];
  const time = { ms: 0 };
  const log = {
    audit: (fields: object) => void lines.push(fields as never),
    isAuditInLog: true,
    auditHealth: healthWithoutFile,
    keepAuditLines: () => undefined,
  };
  const refuse = createRefusalAudit(log, { nowMs: () => time.ms });
  const failure = new DomainError('unauthenticated', 'CREDENTIALS_INVALID', 'the key is not valid');
  const from = (callerAddress: string, keyId: string | null = null) =>
    refuse({
      requestId: 'x',
      callerAddress,
      method: null,
      failure,
      principal: keyId === null ? null : ({ keyId, name: keyId } as Principal),
    });
  return { lines, time, from };
}

test('refusal audit: strangers with many addresses have a limit together, every line left out is counted, and keys keep their own', () => {
  const { lines, time, from } = recorded();
  for (let index = 0; index < 5_000; index += 1) from(`2001:db8:${index.toString(16)}::1`);
  assert.equal(lines.length, 200);
  for (let index = 0; index < 50; index += 1) from('192.0.2.1', 'known');
  assert.equal(lines.filter(({ keyId }) => keyId === 'known').length, 50);
  time.ms += 1_000;
  from('192.0.2.99');
  assert.equal(lines.at(-1)?.suppressed, 4_800);
  from('192.0.2.98');
  assert.equal(lines.at(-1)?.suppressed, undefined);
});

test('refusal audit: one stranger does not use up the lines of the others', () => {
  const { lines, from } = recorded();
  for (let index = 0; index < 1_000; index += 1) from('192.0.2.1');
  assert.equal(lines.length, 50);
  from('192.0.2.2');
  assert.equal(lines.at(-1)?.suppressed, 950);
});
