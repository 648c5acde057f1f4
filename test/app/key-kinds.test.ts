import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { keyKinds } from '../../src/app/key-kinds.js';

it('docs/signers.md lists the limits of every kind of key whose provider signs', () => {
  const rows = readFileSync('docs/signers.md', 'utf8').matchAll(/^\| `(\w+)` \| (\d+)[^|]*\| (\d+(?:,\d{3})*)/gm);
  const documented = Object.fromEntries(
    [...rows].map(([, type = '', parallel, perSecond = '']) => [
      type,
      { parallel: Number(parallel), perSecond: Number(perSecond.replace(',', '')) },
    ]),
  );
  const { vault: _handsOutTheKey, ...signing } = keyKinds;
  assert.deepEqual(documented, Object.fromEntries(Object.entries(signing).map(([type, { limits }]) => [type, limits])));
});
