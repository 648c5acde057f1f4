import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type DescMessage, fromJson, fromJsonString } from '@bufbuild/protobuf';
import { ProtobufJson } from '../../src/codec/protobuf-json.js';
import { Reading } from '../../src/codec/reading.js';
import { jsonFromText } from '../../src/json/json-reader.js';
import { type JsonObject, jsonTextOf } from '../../src/json/json-value.js';
import { randomJson, requestMessages as requests, withMistake } from '../support/random-json.js';
import { createRandom } from '../support/seeded-random.js';

const rounds = 20;

function isReadByProtobuf(desc: DescMessage, text: string): boolean {
  try {
    fromJsonString(desc, text);
    return true;
  } catch {
    return false;
  }
}

function sift(desc: DescMessage, text: string): { readonly fitting: JsonObject; readonly problems: Reading['problems'] } {
  const reading = new Reading(undefined, []);
  return { fitting: new ProtobufJson(desc, undefined).read(jsonFromText(text) as JsonObject, reading), problems: reading.problems };
}

it('protobuf JSON: refuses nothing that protobuf reads, and keeps it as it is', () => {
  const random = createRandom(1);
  for (const desc of requests) {
    for (let round = 0; round < rounds; round += 1) {
      const text = JSON.stringify(randomJson(desc, random, 0));
      assert.ok(isReadByProtobuf(desc, text), `${desc.typeName} ${text}`);
      const { fitting, problems } = sift(desc, text);
      assert.deepEqual(problems, [], `${desc.typeName} ${text}`);
      assert.deepEqual(fromJsonString(desc, jsonTextOf(fitting)), fromJson(desc, JSON.parse(text)));
    }
  }
});

it('protobuf JSON: finds a problem in every message that protobuf refuses, and the rest of the message can be read', () => {
  const random = createRandom(2);
  let refused = 0;
  for (const desc of requests) {
    for (let round = 0; round < rounds; round += 1) {
      const json = withMistake(randomJson(desc, random, 0), random);
      if (json === null || typeof json !== 'object' || Array.isArray(json)) continue;
      const text = JSON.stringify(json);
      const { fitting, problems } = sift(desc, text);
      assert.ok(isReadByProtobuf(desc, jsonTextOf(fitting)), `${desc.typeName} ${text} leaves ${jsonTextOf(fitting)}`);
      if (isReadByProtobuf(desc, text)) {
        const strict = problems.filter(({ description }) => !description.startsWith('must not be empty'));
        assert.deepEqual(strict, [], `${desc.typeName} ${text}`);
      } else {
        refused += 1;
        assert.equal(problems.length, 1, `${desc.typeName} ${text}`);
      }
    }
  }
  assert.ok(refused > 100, `${refused} messages were refused`);
});
