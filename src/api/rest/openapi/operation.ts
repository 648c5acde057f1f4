import type { DescField, DescService } from '@bufbuild/protobuf';
import { ResponseMetadataSchema } from '../../../../gen/relayer/v1/common_pb.js';
import type { HttpPlan, MethodPlan } from '../../contract/method-plan.js';
import { commentOf, firstSentenceOf } from './comment.js';
import { methodExamples } from './examples.js';
import { answerHeaders } from './headers.js';
import { methodErrors } from './method-errors.js';
import { parametersOf } from './parameters.js';
import type { Schema } from './schema.js';
import type { SchemaCompiler } from './schema-compiler.js';

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

/** The group that a service's methods are in: `ApiKeyService` is `Api key`. */
function tagOf(service: DescService): string {
  return service.name.replace(/Service$/, '').replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Every group, in the order of the plans; what a service has over RPC only is told in its words. */
export function tagsOf(plans: readonly MethodPlan[]): readonly Schema[] {
  const services = [...new Set(plans.map(({ method }) => method.parent))];
  return services.map((service) => {
    const rpcOnly = plans.filter(({ method, http }) => method.parent === service && http === null);
    const lines = rpcOnly.map(({ method, rpcPath }) => `Over RPC only, \`${rpcPath}\`: ${commentOf(method)}`);
    return { name: tagOf(service), description: [commentOf(service), ...lines].join('\n\n') };
  });
}

/** What a method answers when it succeeds: the envelope under the name of its response, or the bare field. */
export function answerSchema(plan: MethodPlan, http: HttpPlan, compiler: SchemaCompiler): Schema {
  const { output } = plan.method;
  const schemaOf = (field: DescField | undefined) => (field === undefined ? undefined : compiler.field(field, 'answer'));
  const data = schemaOf(output.fields.find(({ name }) => name === http.responseField));
  if (http.bare) return data ?? {};
  const pagination = schemaOf(output.fields.find(({ name }) => name === 'pagination'));
  const metadata = schemaOf(output.fields.find(({ message }) => message?.typeName === ResponseMetadataSchema.typeName));
  return compiler.add(output.name, {
    type: 'object',
    description: commentOf(output),
    properties: {
      success: { type: 'boolean', const: true },
      data: data ?? { type: 'null' },
      error: { type: 'null' },
      ...(pagination && { pagination }),
      // There when there is something to tell.
      ...(metadata && { metadata }),
    },
    required: ['success', 'data', 'error', ...(pagination ? ['pagination'] : [])],
  });
}
