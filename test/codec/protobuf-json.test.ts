import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type DescField, type DescMessage, fromJson, fromJsonString, type JsonValue as PlainJson, ScalarType } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { ProtobufJson } from '../../src/codec/protobuf-json.js';
import { Reading } from '../../src/codec/reading.js';
import { jsonFromText } from '../../src/json/json-reader.js';
import { type JsonObject, jsonTextOf } from '../../src/json/json-value.js';
import { createRandom, type Random } from '../support/seeded-random.js';

const services = [ApiKeyService, NetworkService, NotificationService, RelayerService, SignerService, SigningService, TransactionService];
const requests = services.flatMap(({ methods }) => methods.map(({ input }) => input));
const rounds = 20;

/** JSON values that fit no field, one field, or many. */
const odd: readonly PlainJson[] = [
  5,
  -1,
  1.5,
  1e300,
  true,
  '',
  'x',
  '007',
  '1e3',
  ' 1',
  '0x1',
  'NaN',
  'AA==',
  '1.5s',
  '2030-01-31T12:00:00Z',
  [],
  [5],
  [null],
  {},
  { x: 1 },
];

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.between(0, items.length - 1)] as T;
}

/** A random message as protobuf JSON, and all places in it that can hold a value. */
function randomJson(desc: DescMessage, random: Random, depth: number): Record<string, PlainJson> {
  const json: Record<string, PlainJson> = {};
  const taken = new Set<unknown>();
  for (const field of desc.fields) {
    if (random.chance(0.3) || (field.oneof !== undefined && taken.has(field.oneof))) continue;
    if (field.message !== undefined && depth > 4) continue;
    taken.add(field.oneof);
    const key = random.chance(0.5) ? field.name : field.jsonName;
    const value = () => randomValue(field, random, depth);
    json[key] = field.fieldKind === 'list' ? Array.from({ length: random.between(1, 2) }, value) : value();
  }
  return json;
}

function randomValue(field: DescField, random: Random, depth: number): PlainJson {
  if (field.fieldKind === 'map') return {};
  if (field.enum !== undefined)
    return pick(
      random,
      field.enum.values.map(({ name, number }) => (random.chance(0.5) ? name : number)),
    );
  switch (field.message?.typeName) {
    case undefined:
      return randomScalar(field.scalar, random);
    case 'google.protobuf.Timestamp':
      return '2030-01-31T12:00:00.5Z';
    case 'google.protobuf.Duration':
      return '1.5s';
    case 'google.protobuf.FieldMask':
      return 'name,url';
    default:
      return randomJson(field.message as DescMessage, random, depth + 1);
  }
}

function randomScalar(scalar: ScalarType | undefined, random: Random): PlainJson {
  switch (scalar) {
    case ScalarType.STRING:
      return pick(random, ['', 'x', '😀', '"\\']);
    case ScalarType.BOOL:
      return random.chance(0.5);
    case ScalarType.BYTES:
      return pick(random, ['', 'AQ==', 'AQ', '_-8']);
    case ScalarType.DOUBLE:
      return 1.5;
    default:
      return pick(random, [0, 7, '7', 1e3, '2147483647']);
  }
}

/** Replaces one random value of the message by an odd one, or adds an unknown key. */
function withMistake(json: PlainJson, random: Random): PlainJson {
  if (Array.isArray(json) && json.length > 0 && random.chance(0.7)) {
    const at = random.between(0, json.length - 1);
    return json.map((item, index) => (index === at ? withMistake(item, random) : item));
  }
  if (json !== null && typeof json === 'object' && !Array.isArray(json) && random.chance(0.8)) {
    const keys = Object.keys(json);
    if (keys.length === 0 || random.chance(0.1)) return { ...json, unknown: 1 };
    const key = pick(random, keys);
    return { ...json, [key]: withMistake(json[key] as PlainJson, random) };
  }
  return pick(random, odd);
}

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
