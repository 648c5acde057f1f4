import { type DescField, type DescMessage, type JsonValue as PlainJson, ScalarType } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { AuditService } from '../../gen/relayer/v1/audit_service_pb.js';
import { InstanceService } from '../../gen/relayer/v1/instance_service_pb.js';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { OverviewService } from '../../gen/relayer/v1/overview_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import type { Random } from './seeded-random.js';

const services = [
  ApiKeyService,
  InstanceService,
  NetworkService,
  NotificationService,
  OverviewService,
  AuditService,
  RelayerService,
  SignerService,
  SigningService,
  TransactionService,
];

/** The requests of all services. */
export const requestMessages: readonly DescMessage[] = services.flatMap(({ methods }) => methods.map(({ input }) => input));

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

/** Returns a random message as protobuf JSON. `depth`: how deep it lies; 0 is the outermost. */
export function randomJson(desc: DescMessage, random: Random, depth: number): Record<string, PlainJson> {
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
export function withMistake(json: PlainJson, random: Random): PlainJson {
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

/** Spells the names of a JSON text with random escapes and spaces: every reader must read them as the same. */
export function respelled(text: string, random: Random): string {
  return text.replaceAll(/"([A-Za-z_]+)":/g, (_, name: string) => {
    const letters = [...name].map((letter) => (random.chance(0.2) ? escapeOf(letter, random) : letter));
    return `${pick(random, ['', ' ', '\n\t'])}"${letters.join('')}"${pick(random, ['', ' '])}:${pick(random, ['', '\r\n'])}`;
  });
}

function escapeOf(letter: string, random: Random): string {
  const digits = letter.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${random.chance(0.5) ? digits : digits.toUpperCase()}`;
}
