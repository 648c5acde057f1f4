import { type DescField, type DescMessage, getOption, isFieldSet, type Message } from '@bufbuild/protobuf';
import { base64Encode } from '@bufbuild/protobuf/wire';
import { type Timestamp, TimestampSchema, timestampDate } from '@bufbuild/protobuf/wkt';
import {
  field as fieldOption,
  message as messageOption,
  text as textOption,
  union as unionOption,
} from '../../../gen/relayer/rest/v1/options_pb.js';

/** A JSON value of the REST API. */
export type RestJson = string | number | boolean | readonly RestJson[] | { readonly [key: string]: RestJson };

type Properties = Readonly<Record<string, unknown>>;

/**
 * Writes a message as the REST API reads it, by the options of the definitions, without fields that only RPC has. It knows the options of
 * the requests that send, replace, cancel, get and sign; those of policies and of JSON text are not among them.
 */
export function restJsonOf(desc: DescMessage, message: Message): Record<string, RestJson> {
  const json: Record<string, RestJson> = {};
  const properties = message as unknown as Properties;
  for (const member of desc.members) {
    if (member.kind === 'field') {
      const { rpcOnly, name } = getOption(member, fieldOption);
      if (!rpcOnly && isFieldSet(message, member)) json[name || member.name] = fieldJson(member, properties[member.localName]);
      continue;
    }
    const held = properties[member.localName] as { readonly case?: string; readonly value?: unknown };
    const chosen = member.fields.find(({ localName }) => localName === held.case);
    if (chosen === undefined) continue;
    const { selector, content } = getOption(member, unionOption);
    const value = valueJson(chosen, held.value);
    const { name, tags } = getOption(chosen, fieldOption);
    if (selector.case === undefined) {
      json[name || chosen.name] = value;
      continue;
    }
    if (selector.case === 'tag') json[selector.value] = tags[0] ?? chosen.name;
    if (content === '') Object.assign(json, value);
    // An empty message has nothing to write (`{"type":"none"}`).
    else if (chosen.message?.fields.length !== 0) json[content] = value;
  }
  return json;
}

function fieldJson(field: DescField, value: unknown): RestJson {
  return field.fieldKind === 'list' ? (value as readonly unknown[]).map((item) => valueJson(field, item)) : valueJson(field, value);
}

function valueJson(field: DescField, value: unknown): RestJson {
  if (field.message !== undefined) return messageJson(field.message, value as Message);
  if (field.enum !== undefined) {
    const found = field.enum.value[value as number];
    if (found === undefined) return value as number;
    return getOption(found, textOption) || camelCase(found.name.slice(field.enum.sharedPrefix?.length ?? 0));
  }
  if (value instanceof Uint8Array) return getOption(field, fieldOption).hex ? hexOf(value) : base64Encode(value);
  // REST reads a 64-bit integer from digits in a string too, and JavaScript's numbers cannot hold all of them.
  if (typeof value === 'bigint') return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= 0n ? Number(value) : value.toString();
  return value as string | number | boolean;
}

function messageJson(desc: DescMessage, message: Message): RestJson {
  if (desc.typeName === TimestampSchema.typeName) return timestampDate(message as Timestamp).toISOString();
  const [bare] = Object.values(message as unknown as Properties).map((held) => (held as { readonly case?: string } | null)?.case);
  const bareField = desc.fields.find(({ localName }) => localName === bare);
  if (bareField !== undefined) {
    const name = getOption(bareField, fieldOption).name || bareField.name;
    if (getOption(desc, messageOption).bareCases.includes(name)) return name;
  }
  return restJsonOf(desc, message);
}

function camelCase(name: string): string {
  return name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Writes bytes as lower-case hex. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
