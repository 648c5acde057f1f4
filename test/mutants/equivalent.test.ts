import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { equivalents } from './equivalent.js';
import { mutantsOf } from './mutate.js';

for (const { module, kind, line, replacement } of equivalents)
  it(`mutants without an effect: ${module} still has ${line} (${kind})`, () => {
    const text = readFileSync(join('dist/src', module), 'utf8');
    const lineAt = (place: number): string => {
      const end = text.indexOf('\n', place);
      return text.slice(text.lastIndexOf('\n', place - 1) + 1, end === -1 ? undefined : end).trim();
    };
    const isListed = mutantsOf(text).some((one) => one.kind === kind && one.replacement === replacement && lineAt(one.start) === line);
    assert.ok(isListed, 'the code has changed: take the line out, or judge it again');
  });
