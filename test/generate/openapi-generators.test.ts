import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { documentText, openApiDocument } from '../../.ci/generate/openapi/document.js';
import { compileMethodPlans } from '../../src/api/contract/method-plan.js';
import { createServices } from '../../src/api/services/services.js';

type Json = Readonly<Record<string, unknown>>;

/*
 * The rules that client generators need: test/clients/openapi proves them with seven generators. These tests find a violation in a second.
 * Generators ignore what is below `not`.
 */
const document = compiled();
const schemas = (document.components as { schemas: Record<string, Json> }).schemas;

describe('the OpenAPI document for client generators', () => {
  it('the OpenAPI document for client generators: has every union as a bare schema with a name', () => {
    const bare = new Set(['title', 'description', 'oneOf', 'anyOf', 'discriminator']);
    assertNone((schema, place) => {
      if (!('oneOf' in schema || 'anyOf' in schema) || isNullableReference(schema)) return false;
      return !isNamed(place) || Object.keys(schema).some((key) => !bare.has(key));
    });
  });

  it('the OpenAPI document for client generators: has null only beside another type, and as the other form of a reference', () => {
    assertNone(
      (schema) =>
        schema.type === 'null' || schema.const === null || (schema.enum as unknown[] | undefined)?.every((one) => one === null) === true,
      {
        except: (place) => /\/anyOf\/1$/.test(place) && isNullableReference(parentOf(place)),
      },
    );
  });

  it('the OpenAPI document for client generators: has no merged schema, no constant and no choice of types in a list', () => {
    assertNone((schema) => 'allOf' in schema || 'const' in schema);
    assertNone(({ type }) => Array.isArray(type) && (type.length !== 2 || type[1] !== 'null'), {
      except: (place) => place.endsWith('/not'),
    });
  });

  it('the OpenAPI document for client generators: has a name for every object', () => {
    assertNone((schema, place) => 'properties' in schema && !isNamed(place));
  });

  it('the OpenAPI document for client generators: has no union with a list as a case', () => {
    const isList = (schema: Json): boolean => resolved(schema).type === 'array';
    assertNone((schema) => [schema.anyOf, schema.oneOf].some((cases) => ((cases ?? []) as Json[]).some(isList)));
  });

  it('the OpenAPI document for client generators: distinguishes the cases of each union of responses by a discriminator or by a required key that no other case has', () => {
    for (const [name, { oneOf, discriminator }] of Object.entries(schemas)) {
      const cases = ((oneOf ?? []) as Json[]).map(resolved);
      if (cases.length === 0 || cases[0]?.additionalProperties === false) continue;
      if (discriminator !== undefined) {
        const { propertyName, mapping } = discriminator as { propertyName: string; mapping: Record<string, string> };
        for (const [text, $ref] of Object.entries(mapping)) {
          const { enum: texts } = resolved((resolved({ $ref }).properties as Record<string, Json>)[propertyName] ?? {});
          assert.ok((texts as string[]).includes(text), `${name}: ${text}`);
        }
        continue;
      }
      for (const one of cases) {
        const keysOfOthers = cases.filter((other) => other !== one).flatMap((other) => Object.keys(other.properties as Json));
        const own = (one.required as string[]).filter((key) => !keysOfOthers.includes(key));
        assert.ok(own.length > 0, `${name}: ${one.title}`);
      }
    }
  });

  it('the OpenAPI document for client generators: has a complete record for each network, in responses, lists and webhooks', () => {
    for (const name of ['Transaction', 'Attempt', 'TransactionPayload']) {
      const { oneOf, ...rest } = schemas[name] as Json;
      assert.deepEqual(Object.keys(rest).sort(), ['description', 'title'], name);
      const records = (oneOf as Json[]).map(resolved);
      assert.equal(records.length, 3, name);
      for (const { properties, required } of records) {
        for (const key of ['hash', 'created_at'])
          assert.ok(key in (properties as Json) && (required as string[]).includes(key), `${name}.${key}`);
      }
    }
    assert.ok((schemas.EvmTransactionPayload as { required: string[] }).required.includes('payload_type'));
  });

  it('the OpenAPI document for client generators: has a format for every integer of a response, and for every number that is no integer of any size', () => {
    assertNone(
      (schema, place) => typesOf(schema).includes('number') && schema.format !== 'double' && place !== '/components/schemas/ExactInteger',
      {
        except: (place) => place.endsWith('/not'),
      },
    );
    assertNone(({ type, format }) => typesOf({ type }).includes('integer') && !['int32', 'int64'].includes(String(format)), {
      // Texts are exact there, and an integer is the other form.
      except: (place) => /\/anyOf\/1$/.test(place),
    });
    assertNone(({ format }) => format === 'uint32' || format === 'uint64');
  });

  it('the OpenAPI document for client generators: allows further keys in responses and none in requests', () => {
    assertNone((schema) => 'properties' in schema && typeof schema.additionalProperties !== 'boolean');
    assert.equal(schemas.EvmTransaction?.additionalProperties, true);
    assert.equal(schemas.EvmTransactionRequest?.additionalProperties, false);
  });

  it('the OpenAPI document for client generators: names no schema as generators name what they make of an operation', () => {
    const operations = [...operationsOf('paths'), ...operationsOf('webhooks')].map(({ operationId }) => pascal(String(operationId)));
    const reserved = new Set(operations.flatMap((id) => [`${id}Response`, `${id}Params`, `${id}Body`, `Api${id}Request`]));
    const types = ['Int64', 'Int32', 'String', 'Bool', 'Time', 'Float64'];
    assert.deepEqual(
      Object.keys(schemas).filter((name) => reserved.has(name) || types.includes(name)),
      [],
    );
    assert.equal(new Set(Object.keys(schemas).map((name) => name.toLowerCase())).size, Object.keys(schemas).length);
  });

  it('the OpenAPI document for client generators: has the webhooks in a group that no operation is in', () => {
    const tagsOf = (part: string) => new Set(operationsOf(part).flatMap(({ tags }) => tags as string[]));
    assert.deepEqual([...tagsOf('webhooks')], ['Webhooks']);
    assert.ok(!tagsOf('paths').has('Webhooks'));
    assert.ok(tagsOf('paths').has('Notification'));
  });
});

function assertNone(
  isBad: (schema: Json, place: string) => boolean,
  { except }: { readonly except?: (place: string) => boolean } = {},
): void {
  const found: string[] = [];
  const look = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!/\/(?:properties|enum|required|mapping|examples?|examples\/.*|example\/.*)$/.test(place) && !Array.isArray(value)) {
      if (isBad(value as Json, place) && except?.(place) !== true) found.push(place);
    }
    if (/\/(?:examples?|not)$/.test(place) || /\/(?:x-[a-z-]+|discriminator)$/.test(place)) return;
    for (const [key, inner] of Object.entries(value)) look(inner, `${place}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  };
  look(document, '');
  assert.deepEqual(found, []);
}

function isNullableReference({ anyOf }: Json): boolean {
  const [first, second, ...others] = (anyOf ?? []) as Json[];
  return first !== undefined && '$ref' in first && second?.type === 'null' && others.length === 0;
}

function isNamed(place: string): boolean {
  return /^\/components\/schemas\/\w+$/.test(place);
}

function parentOf(place: string): Json {
  const keys = place.split('/').slice(1, -2);
  return keys.reduce<Json>((value, key) => value[key.replaceAll('~1', '/').replaceAll('~0', '~')] as Json, document);
}

function resolved(schema: Json): Json {
  const name =
    String(schema.$ref ?? '')
      .split('/')
      .at(-1) ?? '';
  return schemas[name] ?? schema;
}

function typesOf({ type }: Json): unknown[] {
  return [type].flat();
}

function operationsOf(part: string): Json[] {
  return Object.values(document[part] as Record<string, Record<string, Json>>).flatMap((verbs) => Object.values(verbs));
}

function pascal(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function compiled(): Json {
  const plans = compileMethodPlans(createServices({ store: { read: {} } } as never).map(({ service }) => service));
  return JSON.parse(documentText(openApiDocument({ plans, version: '1.0.0' })));
}
