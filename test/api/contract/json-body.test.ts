import assert from 'node:assert/strict';
import { it } from 'node:test';
import { principalOf, relayerOf } from '../../../src/api/contract/call.js';
import { jsonFromBody, objectOf } from '../../../src/api/contract/json-body.js';

it('JSON body: what cannot be read, and what is no object, is the fault of the caller', () => {
  const isMalformed = (sentence: RegExp) => (error: unknown) => {
    const { kind, reason, message } = error as { kind?: string; reason?: string; message: string };
    assert.deepEqual([kind, reason], ['invalid', 'BODY_MALFORMED']);
    assert.match(message, sentence);
    return true;
  };
  for (const text of ['', '{', '{"a":1,"a":2}', '\u0000'])
    assert.throws(() => jsonFromBody(Buffer.from(text)), isMalformed(/^the body /), text);
  for (const text of ['[]', '5', 'null', '"a"'])
    assert.throws(() => objectOf(jsonFromBody(Buffer.from(text))), isMalformed(/^the body must be a JSON object$/), text);
  assert.deepEqual([...objectOf(jsonFromBody(Buffer.from('{"a":true}')))], [['a', true]]);
});

it('a call: one that needs no key has no caller, and one without a relayer rule has no relayer', () => {
  const context = { values: { get: () => ({ principal: null, relayer: null }) } } as unknown as Parameters<typeof principalOf>[0];
  assert.throws(() => principalOf(context), { kind: 'internal', message: 'the method asks for no key' });
  assert.throws(() => relayerOf(context), { kind: 'internal', message: 'the method declares no relayer rule' });
});
