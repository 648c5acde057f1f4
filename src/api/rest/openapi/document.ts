import type { MethodPlan } from '../../contract/method-plan.js';
import { errorComponents, errorSchema, errorTableText } from './error-responses.js';
import { headerComponents } from './headers.js';
import { answerSchema, operationOf, tagsOf } from './operation.js';
import { pagePaths } from './page-paths.js';
import { parameterComponents } from './parameters.js';
import type { Schema } from './schema.js';
import { SchemaCompiler } from './schema-compiler.js';
import { webhooks } from './webhooks.js';

/** What the document tells of. */
export interface DocumentParts {
  readonly plans: readonly MethodPlan[];
  /** False where calling the method answers 501 whatever is asked. */
  isBuilt(plan: MethodPlan): boolean;
  /** The service's version. */
  readonly version: string;
}

/** The OpenAPI document of REST: the same routes, shapes and rules as the gateway's, from the same plans. A bigint in it is a JSON number. */
export function openApiDocument({ plans, isBuilt, version }: DocumentParts): Schema {
  const compiler = new SchemaCompiler();
  // What answers is compiled first: see SchemaCompiler.
  const routes = plans.flatMap((plan) =>
    plan.http === null ? [] : [{ plan, http: plan.http, answer: answerSchema(plan, plan.http, compiler) }],
  );
  compiler.add('Error', errorSchema);
  const paths: Record<string, Record<string, Schema>> = {};
  for (const { plan, http, answer } of routes) {
    const operation = operationOf({ plan, http, answer, isBuilt: isBuilt(plan), compiler });
    paths[http.template] = { ...paths[http.template], [http.verb.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Relayer service', version, description: introduction(), license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/', description: 'This service' }],
    tags: [...tagsOf(plans), { name: 'Health', description: 'Whether the service lives and is ready.' }],
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
          description: 'An API key. The scopes that a call needs are listed with it; the bootstrap key (`API_KEY`) has every scope.',
        },
      },
    },
  };
}

/** The document as JSON text, its bigints digit for digit. */
export function documentText(document: Schema): string {
  const marked = JSON.stringify(document, (_key, value: unknown) => (typeof value === 'bigint' ? `${bigintMark}${value}` : value));
  return marked.replace(new RegExp(`"${bigintMark}(-?[0-9]+)"`, 'g'), '$1');
}

/** No text of ours has it. */
const bigintMark = '@integer:';

function introduction(): string {
  return `Holds the keys, turns "do this on chain" into a transaction, gets it mined, lets the caller replace it while it waits, signs typed data, and tells other systems by webhook.

The same methods answer as gRPC, gRPC-Web and Connect on the same port, at \`/relayer.v1.<Service>/<Method>\`; this page is about REST. HEAD is answered as GET.

### Requests

Bodies are JSON objects in UTF-8. A field that is \`null\` is absent. Amounts are exact, as JSON integers of any size or as strings, decimal or \`0x\` and hexadecimal. A field or query parameter that is not known is refused by its name. The shape of a transaction is that of the relayer's network; fields of another network's shape are ignored, and \`metadata.logs\` says so.

### Answers

Every answer below has one envelope: \`success\`, \`data\`, \`error\`; with \`pagination\` on lists, and \`metadata\` when there is something to tell. Answers may get more fields. Times are RFC 3339 in UTC. Lists are newest first.

### Errors

\`message\` is a fixed text for programs, \`error\` says what exactly went wrong, and the header \`X-Error-Reason\` says why, from a closed list.

<details><summary>All errors</summary>

${errorTableText()}

</details>

### Rate limit

Calls that say so share one limit for each key. Their answers carry \`RateLimit\` and \`RateLimit-Policy\`, and with 429 \`Retry-After\`.`;
}
