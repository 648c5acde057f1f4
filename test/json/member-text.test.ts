import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { memberText } from '../../src/json/json-reader.js';

describe('the text of a member of a JSON object', () => {
  it('the text of a member of a JSON object: is what JSON.parse reads, for any object and white space', () => {
    // fast-check's own unit `binary` first makes a table of all code points, which takes most of a second.
    const character = fc.nat({ max: 0x10ffff }).map((point) => String.fromCodePoint(point));
    const objects = fc.dictionary(fc.oneof(fc.string(), fc.string({ unit: character })), fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(objects, fc.constantFrom(undefined, 1, '\t', '\r\n '), (object, space) => {
        const text = JSON.stringify(object, null, space);
        for (const [name, value] of Object.entries(object)) {
          const member = memberText(text, name);
          assert.ok(member !== null);
          assert.deepEqual(JSON.parse(member), JSON.parse(JSON.stringify(value)));
        }
        assert.equal(memberText(text, 'a name that none of them has'), null);
      }),
    );
  });

  for (const [what, text, member] of [
    ['keeps every digit', '{"id":1,"result":123456789012345678901234567890}', '123456789012345678901234567890'],
    ['keeps how a number is written', '{"result":1.10E+2 ,"id":1}', '1.10E+2'],
    ['is not misled by what stands in strings', '{"a":"\\"result\\":[}","result":["}",{"result":1}]}', '["}",{"result":1}]'],
    ['is not one of an inner object', '{"a":{"result":1}}', null],
    ['is the last of two', '{"result":1,"result":2}', '2'],
    ['may have an escaped name', '{"r\\u0065sult":null}', 'null'],
    ['is none of an empty object', ' { } ', null],
    ['may end with the object', '{"result":true}', 'true'],
  ] as const) {
    it(what, () => assert.equal(memberText(text, 'result'), member));
  }
});
