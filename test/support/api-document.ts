import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { type ErrorReason, type ReasonRules, reasonRules } from '../../src/core/errors/errors.js';
import { type AppRig, askRest, type RestAnswer } from './app-rig.js';

type Json = Readonly<Record<string, unknown>>;

/** One operation of the document: a verb and a path. */
export interface Operation {
  readonly id: string;
  readonly verb: string;
  readonly template: string;
  readonly description: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly example?: unknown;
    readonly schema?: Json;
  }[];
  /** Bodies by name; empty without a body. */
  readonly requests: Readonly<Record<string, unknown>>;
  readonly hasBody: boolean;
  /** True: its answer is a stream of events, without an end. */
  readonly isStream: boolean;
  /** By status. */
  readonly responses: Readonly<Record<string, Json>>;
  readonly security: readonly Json[];
}

/** The OpenAPI document as a client reads it. */
export interface ApiDocument {
  readonly json: Json;
  readonly operations: readonly Operation[];
  operation(id: string): Operation;
  /** Fails unless the document defines the response for this operation: status, headers, body, and no undefined field. */
  check(operation: Operation, answer: RestAnswer): void;
  /** Validates a value against the schema at a place of the document. Returns the problems; null if there are none. */
  problems(place: readonly string[], value: unknown): string | null;
}

/** Reads the document of a running service. */
export async function readApiDocument(port: number): Promise<ApiDocument> {
  const { status, text } = await askRest(port, 'GET', '/openapi.json', { headers: { authorization: undefined } });
  assert.equal(status, 200);
  const json: Json = JSON.parse(text);
  const strict = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  strict.addSchema(withNothingElse(json), 'document');
  const compiled = new Map<string, ValidateFunction>();
  const operations = operationsOf(json);

  function problems(place: readonly string[], value: unknown): string | null {
    const pointer = place.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
    const validate = compiled.get(pointer) ?? strict.compile({ $ref: `document#${pointer}` });
    compiled.set(pointer, validate);
    return validate(value) ? null : strict.errorsText(validate.errors);
  }

  return {
    json,
    operations,
    operation(id) {
      const found = operations.find((one) => one.id === id);
      assert.ok(found, id);
      return found;
    },
    problems,
    check({ id, verb, template, responses }, answer) {
      const shown = `${id} answered ${answer.status}: ${answer.text.slice(0, 2000)}`;
      const response = responses[answer.status];
      assert.ok(response, `the document does not define this status: ${shown}`);
      const reference = response.$ref;
      const place =
        typeof reference === 'string'
          ? reference.slice(2).split('/')
          : ['paths', template, verb.toLowerCase(), 'responses', String(answer.status)];
      const resolved = at(json, place);
      const [contentType = ''] = String(answer.headers['content-type']).split(';');
      assert.ok(contentType in at(resolved, ['content']), shown);
      const body = contentType === 'application/json' ? JSON.parse(answer.text) : answer.text;
      assert.equal(problems([...place, 'content', contentType, 'schema'], body), null, shown);
      const errors = Object.values(at(resolved, ['content', contentType, 'examples'])) as {
        readonly value: { readonly message: string };
      }[];
      if (answer.status >= 400 && errors.length > 0) {
        const texts = errors.map(({ value }) =>
          value.message.startsWith('Relayer with ID') ? 'Relayer with ID missing not found' : value.message,
        );
        assert.ok(texts.includes(body.message), `the document does not list the text ${body.message}: ${shown}`);
      }
      const reason = answer.headers['x-error-reason'] as ErrorReason | undefined;
      const helpsToWait = reason !== undefined && (reasonRules[reason] as ReasonRules).retry === 'after_delay';
      if (helpsToWait) assert.ok('Retry-After' in at(resolved, ['headers']), `the document has no Retry-After: ${shown}`);
      for (const [name, header] of Object.entries(at(resolved, ['headers']))) {
        const value = answer.headers[name.toLowerCase()];
        if (name === 'Retry-After') {
          assert.equal(value !== undefined, helpsToWait, `${name}: ${shown}`);
          continue;
        }
        assert.notEqual(value, undefined, `${name} is missing: ${shown}`);
        const reasons = at(header as Json, ['schema']).enum;
        if (name === 'X-Error-Reason')
          assert.ok((reasons as string[]).includes(String(value)), `the document does not list the reason ${value}: ${shown}`);
      }
    },
  };
}

/** Returns the path with these values in its variables, and `missing` in the others. */
export function pathOf({ template }: Operation, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'missing'));
}

/** Sends one of an operation's requests. */
export function ask(
  rig: AppRig,
  { verb }: Operation,
  path: string,
  body: unknown,
  headers: Record<string, string | undefined> = {},
): Promise<RestAnswer> {
  return rig.ask(verb, path, { body: body === undefined ? undefined : JSON.stringify(body), headers });
}

function operationsOf(json: Json): Operation[] {
  return Object.entries(at(json, ['paths'])).flatMap(([template, verbs]) =>
    Object.entries(verbs as Json).map(([verb, value]): Operation => {
      const operation = value as Json;
      const content = operation.requestBody === undefined ? {} : at(operation, ['requestBody', 'content', 'application/json']);
      const requests = Object.entries((content.examples ?? {}) as Json).map(([name, example]) => [name, (example as Json).value]);
      return {
        id: String(operation.operationId),
        description: String(operation.description ?? ''),
        verb: verb.toUpperCase(),
        template,
        parameters: ((operation.parameters ?? []) as Json[]).map(
          (one) => ('$ref' in one ? at(json, String(one.$ref).slice(2).split('/')) : one) as never,
        ),
        requests: Object.fromEntries(requests),
        hasBody: operation.requestBody !== undefined,
        isStream: 'text/event-stream' in at(operation, ['responses', '200', 'content']),
        responses: operation.responses as Record<string, Json>,
        security: operation.security as Json[],
      };
    }),
  );
}

function at(json: Json, place: readonly string[]): Json {
  return place.reduce<Json>((value, key) => (value[key] ?? {}) as Json, json);
}

/** Closes every object, so that an undefined field is a problem. The published document is open, because later versions may add fields. */
function withNothingElse(json: Json): Json {
  return JSON.parse(JSON.stringify(json), (key, value) => (key === 'additionalProperties' && value === true ? false : value));
}
