import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { documentText, openApiDocument } from '../../.ci/generate/openapi/document.js';
import { comments } from '../../gen/comments.js';
import { compileMethodPlans } from '../../src/api/contract/method-plan.js';
import { createServices } from '../../src/api/services/services.js';

type Json = Readonly<Record<string, unknown>>;

/** The table itself, whose entries this test removes and restores. */
const table = comments as Record<string, string>;
const original = { ...table };
after(() => void Object.assign(table, original));

describe('the OpenAPI document without comments', () => {
  it('the OpenAPI document without comments: differs from the document with comments in descriptions and summaries only', () => {
    const withComments = compiled();
    assert.ok(JSON.stringify(withComments).includes(String(original['relayer.v1.Transaction'])));
    for (const name of Object.keys(table)) delete table[name];
    const withoutComments = compiled();
    assert.ok(!JSON.stringify(withoutComments).includes(String(original['relayer.v1.Transaction'])));

    assert.deepEqual(withoutProse(withoutComments), withoutProse(withComments));
    // The descriptions of errors list reasons, so they count as a whole.
    assert.deepEqual(errorsOf(withoutComments), errorsOf(withComments));
    assert.ok(Object.keys(errorsOf(withComments)).length > 200);
  });
});

function compiled(): Json {
  const services = createServices({ store: { read: {} } } as never);
  const plans = compileMethodPlans(services.map(({ service }) => service));
  return JSON.parse(documentText(openApiDocument({ plans, version: '1.0.0' })));
}

function withoutProse(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProse);
  if (typeof value !== 'object' || value === null) return value;
  const isProse = ([key, inner]: [string, unknown]) => (key === 'description' || key === 'summary') && typeof inner === 'string';
  return Object.fromEntries(
    Object.entries(value)
      .filter((entry) => !isProse(entry))
      .map(([key, inner]) => [key, withoutProse(inner)]),
  );
}

/** The error responses, by operation and status, and the shared ones by name. */
function errorsOf({ paths, components }: Json): Json {
  const { responses } = components as { responses: Json };
  const operations = Object.values(paths as Record<string, Record<string, { operationId: string; responses: Json }>>).flatMap(
    Object.values,
  );
  const own = operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses)
      .filter(([status]) => !status.startsWith('2'))
      .map(([status, response]) => [`${operationId} ${status}`, response]),
  );
  return { ...responses, ...Object.fromEntries(own) };
}
