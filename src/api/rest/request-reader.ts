import { create, type DescField, type Message } from '@bufbuild/protobuf';
import { FieldMaskSchema } from '@bufbuild/protobuf/wkt';
import { fieldRulesOf, restNameOf, unionRulesOf } from '../../codec/field-rules.js';
import type { CodecCompiler } from '../../codec/message-codec.js';
import { maskPathsOf, type ObjectCodec, readObject } from '../../codec/object-codec.js';
import { type Properties, Reading } from '../../codec/reading.js';
import { type TextReader, textReaderOf } from '../../codec/text-reader.js';
import type { JsonObject } from '../../json/json-value.js';
import type { MethodPlan } from '../contract/method-plan.js';
import { parsePathTemplate } from './path-template.js';

/** The parts of a request that are read into its message. */
export interface RequestParts {
  /** The decoded path variables. */
  readonly params: Readonly<Record<string, string>>;
  /** Without the question mark. */
  readonly query: string;
  /** Null if the method has no body. */
  readonly body: JsonObject | null;
  /** The values of `If-Match`. */
  readonly ifMatch: readonly string[];
  /** The values of `Prefer`. */
  readonly prefer: readonly string[];
  /** The values of `Last-Event-ID`. */
  readonly lastEventId: readonly string[];
}

/**
 * Reads a request into its message. Notes in `reading` the values that do not fit; the message lacks them.
 */
export type RequestReader = (parts: RequestParts, reading: Reading) => Message;

const maskName = 'update_mask';

/** Compiles the reader of a method's requests. Throws if template, message and options do not match, so that the service does not start. */
export function compileRequestReader(plan: MethodPlan, compiler: CodecCompiler): RequestReader {
  const { input } = plan.method;
  if (plan.http === null) throw new Error(`${plan.rpcPath} has no REST route`);
  const names = parsePathTemplate(plan.http.template).flatMap((segment) => (segment.kind === 'variable' ? [segment.name] : []));
  const params = names.map((name) => pathVariable(plan, name));
  const mask = input.fields.find((field) => field.name === maskName && field.message?.typeName === FieldMaskSchema.typeName);
  const rpcOnly = input.fields.filter((field) => fieldRulesOf(field).rpcOnly).map(({ name }) => name);
  const taken = new Set([...names, ...rpcOnly, ...(mask === undefined ? [] : [maskName])]);
  if (!names.includes('relayer_id') && input.oneofs.some((oneof) => unionRulesOf(oneof).selector.case === 'relayerNetwork')) {
    throw new Error(`${plan.rpcPath} has a union selected by the relayer's network, but no relayer_id in its path`);
  }
  const codec = plan.http.hasBody ? compiler.object(input, taken) : null;
  const readQuery = compileQuery(plan.http.hasBody ? [] : input.fields.filter((field) => !taken.has(field.name)));
  const readIfMatch = compileIfMatch(input.fields);
  const readPrefer = compilePrefer(input.fields);
  const lastEventField = input.fields.find((field) => fieldRulesOf(field).lastEventId);
  const filledMask = plan.http.mergePatch ? mask : undefined;
  return ({ params: texts, query, body, ifMatch, prefer, lastEventId }, reading) => {
    const message = codec !== null && body !== null ? readBody(codec, body, filledMask, reading) : (create(input) as unknown as Properties);
    readQuery(query, message, reading);
    readIfMatch(ifMatch, message, reading);
    readPrefer(prefer, message, reading);
    // A browser that connects again sends the header, with the URL of its first request. An empty one is none.
    const lastEvent = lastEventId.join(', ');
    if (lastEventField !== undefined && lastEvent !== '') message[lastEventField.localName] = lastEvent;
    for (const { field, read } of params) {
      const value = read(texts[field.name] ?? '', field.name, reading);
      if (value !== undefined) message[field.localName] = value;
    }
    return message as unknown as Message;
  };
}

function readBody(codec: ObjectCodec, body: JsonObject, mask: DescField | undefined, reading: Reading): Properties {
  const message = readObject(codec, body, '', reading);
  if (mask !== undefined) message[mask.localName] = create(FieldMaskSchema, { paths: maskPathsOf(codec, body, reading) });
  return message;
}

function pathVariable(plan: MethodPlan, name: string): { readonly field: DescField; readonly read: TextReader } {
  const field = plan.method.input.fields.find((one) => one.name === name);
  if (field?.fieldKind !== 'scalar' || field.oneof !== undefined) {
    throw new Error(`${plan.rpcPath} has the path variable ${name}, which is no string or integer field of its request`);
  }
  return { field, read: textReaderOf(field) };
}

/** Compiles the reader of a query string into these fields; with none, every parameter is unknown. Every problem is noted. */
function compileQuery(fields: readonly DescField[]): (query: string, target: Properties, reading: Reading) => void {
  const readers = new Map(fields.map((field) => [restNameOf(field), { field, read: textReaderOf(field) }]));
  return (query, target, reading) => {
    if (query === '') return;
    const seen = new Set<string>();
    for (const [name, text] of parametersOf(query, reading)) {
      const reader = readers.get(name);
      if (reader === undefined) {
        reading.refuseUnknown('', name, readers.keys(), 'query parameter');
        continue;
      }
      const { field, read } = reader;
      const value = read(text, name, reading);
      if (field.fieldKind === 'list') {
        if (value !== undefined) (target[field.localName] as unknown[]).push(value);
      } else if (seen.has(name)) {
        reading.refuse(name, 'must be given only once');
      } else {
        if (value !== undefined) target[field.localName] = value;
        seen.add(name);
      }
    }
  };
}

/** Returns the parameters of a query. Notes once if some are not percent-encoded UTF-8, and leaves them out. */
function parametersOf(query: string, reading: Reading): [name: string, value: string][] {
  const parameters: [name: string, value: string][] = [];
  let isEncoded = true;
  for (const part of query.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    const name = decoded(at === -1 ? part : part.slice(0, at));
    const value = at === -1 ? '' : decoded(part.slice(at + 1));
    if (name === undefined || value === undefined) isEncoded = false;
    else parameters.push([name, value]);
  }
  if (!isEncoded) reading.refuse('the query', 'must be percent-encoded UTF-8');
  return parameters;
}

/** Returns undefined for a text that is not percent-encoded UTF-8. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** The header that REST callers guard a change with: a revision in quotes, or `*` for any. */
export const ifMatchPattern = /^(?:"(\d{1,18})"|\*)$/;

/** The header of a change that must not be made of what was not read. */
export const requiredIfMatchPattern = /^"(\d{1,18})"$/;

/** Reads the values of `If-Match` into the field of the request that takes it. Other requests ignore the header, as HTTP demands. */
function compileIfMatch(fields: readonly DescField[]): (values: readonly string[], target: Properties, reading: Reading) => void {
  const field = fields.find((one) => fieldRulesOf(one).ifMatch);
  if (field === undefined) return () => undefined;
  const { required } = fieldRulesOf(field);
  return (values, target, reading) => {
    const [value] = values;
    if (value === undefined) {
      if (required) reading.refuse('If-Match', 'is required: the revision of the record that you have read, in quotes');
      return;
    }
    const match = values.length === 1 ? (required ? requiredIfMatchPattern : ifMatchPattern).exec(value) : null;
    if (match === null) reading.refuse('If-Match', `must be one revision in quotes, such as "3"${required ? '' : ', or *'}`);
    else if (match[1] !== undefined) target[field.localName] = BigInt(match[1]);
  };
}

/**
 * Reads the preferences (RFC 7240) that fields take: `Prefer: wait=30, until=mined`. Unknown preferences and values are ignored, as HTTP
 * demands.
 */
function compilePrefer(fields: readonly DescField[]): (values: readonly string[], target: Properties, reading: Reading) => void {
  const preferred = fields.flatMap((field) => {
    const { prefer, max } = fieldRulesOf(field);
    if (prefer === '') return [];
    const pattern = new RegExp(`(?:^|[,;])\\s*${prefer}\\s*=\\s*"?([^\\s",;]{1,64})`, 'i');
    return [{ field, max, read: textReaderOf(field), pattern }];
  });
  return (values, target, { networkType }) => {
    if (values.length === 0) return;
    const header = values.join(',');
    const ignored = new Reading(networkType, []);
    for (const { field, max, read, pattern } of preferred) {
      const text = pattern.exec(header)?.[1];
      if (text === undefined) continue;
      const value = read(max !== undefined && Number(text) > Number(max) ? String(max) : text, 'Prefer', ignored);
      if (value !== undefined) target[field.localName] = value;
    }
  };
}
