import type { MethodPlan } from '../../../src/api/contract/method-plan.js';
import { errorComponents, errorSchema, errorTableText } from './error-responses.js';
import { headerComponents } from './headers.js';
import { answerSchema, operationOf, tagsOf } from './operation.js';
import { pagePaths, readinessComponentsSchema, readinessSchema, systemStateSchema } from './page-paths.js';
import { parameterComponents } from './parameters.js';
import type { Schema } from './schema.js';
import { SchemaCompiler } from './schema-compiler.js';
import { webhooksOf, webhookTag } from './webhooks.js';

/** The input of the document. */
export interface DocumentParts {
  readonly plans: readonly MethodPlan[];
  /** The service's version. */
  readonly version: string;
}

/** Compiles the OpenAPI document of REST from the plans that the gateway uses. Integers outside the safe range are bigints. */
export function openApiDocument({ plans, version }: DocumentParts): Schema {
  const compiler = new SchemaCompiler();
  // Responses first: see SchemaCompiler.
  const routes = plans.flatMap((plan) =>
    plan.http === null ? [] : [{ plan, http: plan.http, answer: answerSchema(plan, plan.http, compiler) }],
  );
  compiler.add('ErrorEnvelope', errorSchema);
  compiler.add('Readiness', readinessSchema);
  compiler.add('ReadinessComponents', readinessComponentsSchema);
  compiler.add('SystemState', systemStateSchema);
  const webhooks = webhooksOf(compiler);
  const paths: Record<string, Record<string, Schema>> = {};
  for (const { plan, http, answer } of routes) {
    const operation = operationOf({ plan, http, answer, compiler });
    paths[http.template] = { ...paths[http.template], [http.verb.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Relayer service', version, description: introduction(), license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/', description: 'This service' }],
    tags: [...tagsOf(plans), webhookTag, { name: 'Health', description: 'Liveness, readiness and metrics.' }],
    paths: { ...paths, ...pagePaths },
    webhooks,
    components: {
      schemas: compiler.schemas,
      responses: errorComponents(),
      parameters: parameterComponents,
      headers: headerComponents,
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. Each operation states the scope that it needs. The bootstrap key (`API_KEY`) has every scope.',
        },
      },
    },
  };
}

/**
 * Writes the document as JSON text, with bigints as exact JSON numbers. Each operation and each component has a line of its own, so that a
 * change of the definitions can be read as a difference of lines.
 */
export function documentText(document: Schema): string {
  return `${jsonLines(document, 3).replace(new RegExp(`"${bigintMark}(-?[0-9]+)"`, 'g'), '$1')}\n`;
}

/** Writes a value as JSON, with a line for each key of the objects of these outermost levels. */
function jsonLines(value: unknown, levels: number): string {
  if (levels === 0 || typeof value !== 'object' || value === null || Array.isArray(value))
    return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? `${bigintMark}${inner}` : inner));
  return `{\n${Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .map(([key, inner]) => `${JSON.stringify(key)}:${jsonLines(inner, levels - 1)}`)
    .join(',\n')}\n}`;
}

/** Marks a bigint in the JSON text; no text of the document contains it. */
const bigintMark = '@integer:';

function introduction(): string {
  return `The relayer service holds keys, sends transactions on EVM networks, Stellar and Solana, and gets them mined. Callers can replace and cancel a transaction until it is mined, sign data, and receive events by webhook.

This page describes REST. The same methods are available as gRPC, gRPC-Web and Connect on the same port, at \`/relayer.v1.<Service>/<Method>\`. To generate stubs, take the definitions from [/contract.zip](/contract.zip), or their descriptor set from [/contract.binpb](/contract.binpb).

### Requests

Bodies are JSON objects in UTF-8. \`null\` means that the field is absent. Amounts are exact: JSON integers of any size, or strings of decimal digits or of \`0x\` and hex digits. The service rejects unknown fields and query parameters, and names them. The relayer's network decides the shape of a transaction. The service ignores fields that only another network's shape has, with a warning in \`metadata.logs\`.

### Responses

Every JSON response has the same envelope, unless its operation says otherwise: \`success\`, \`data\` and \`error\`; lists add \`pagination\`, and responses with warnings add \`metadata\`. Later versions may add fields. Times are RFC 3339 in UTC. Lists are newest first. Every GET operation also supports HEAD.

### Errors

An error has a fixed text in \`message\`, a readable sentence in \`error\`, and a reason from a closed list in the header \`X-Error-Reason\`. Programs should act on the reason.

<details><summary>All errors</summary>

${errorTableText()}

</details>

### Rate limit

Each API key has one rate limit for all operations that state that they count towards it. Their responses carry \`RateLimit\` and \`RateLimit-Policy\`; a 429 also carries \`Retry-After\`.`;
}
