import type { HttpPlan, MethodPlan } from '../../contract/method-plan.js';
import { commentOf, firstSentenceOf } from './comment.js';
import { methodExamples } from './examples.js';
import { answerHeaders } from './headers.js';
import { methodErrors } from './method-errors.js';
import { parametersOf } from './parameters.js';
import type { Schema } from './schema.js';
import type { SchemaCompiler } from './schema-compiler.js';
import { tagOf } from './tags.js';

/** What an operation is made from. `answer` was compiled before, since all answers are compiled before any request. */
export interface OperationParts {
  readonly plan: MethodPlan;
  readonly http: HttpPlan;
  readonly answer: Schema;
  readonly isBuilt: boolean;
  readonly compiler: SchemaCompiler;
}

/** One verb of one path. */
export function operationOf({ plan, http, answer, isBuilt, compiler }: OperationParts): Schema {
  const { method } = plan;
  const { parameters, taken } = parametersOf(plan, http, compiler);
  const body = http.hasBody ? compiler.body(method.input, taken) : null;
  const { requests, answer: answerExample } = methodExamples[`${method.parent.name}.${method.name}`] ?? {};
  const success = {
    description: answerText(http),
    headers: answerHeaders(plan),
    content: { 'application/json': { schema: answer, ...(answerExample === undefined ? {} : { example: answerExample }) } },
  };
  return {
    operationId: method.localName,
    tags: [tagOf(method.parent)],
    summary: firstSentenceOf(commentOf(method)),
    description: descriptionOf(plan, isBuilt),
    security: plan.scope === 'public' ? [] : [{ key: plan.scope === 'authenticated' ? [] : [plan.scope] }],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: body.isRequired,
            content: { 'application/json': { schema: body.schema, ...(requests && { examples: requests }) } },
          },
        }),
    responses: { [http.successStatus]: success, ...methodErrors(plan, http, isBuilt) },
  };
}

function answerText({ bare, responseField }: HttpPlan): string {
  if (bare) return 'The answer, without the envelope.';
  return responseField === null ? 'Done; `data` is null.' : 'Done.';
}

function descriptionOf(plan: MethodPlan, isBuilt: boolean): string {
  // What a comment says of errors is in the words of RPC.
  const [about, rpcErrors] = commentOf(plan.method).split(/\s*Errors: /);
  const facts = [
    scopeText(plan),
    ...(plan.rateLimited ? ['Takes one call of the rate limit.'] : []),
    ...(isBuilt ? [] : ['**Not built yet: it answers 501.**']),
  ];
  const rpc = `Over RPC: \`${plan.rpcPath}\`${rpcErrors === undefined ? '.' : `; errors there: ${rpcErrors}`}`;
  return [about, facts.join(' '), rpc].join('\n\n');
}

function scopeText({ scope }: MethodPlan): string {
  if (scope === 'public') return 'No key is needed.';
  return scope === 'authenticated' ? 'Any valid key will do.' : `The key needs the scope \`${scope}\`.`;
}
