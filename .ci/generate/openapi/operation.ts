import type { DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';
import { ResponseMetadataSchema } from '../../../gen/relayer/v1/common_pb.js';
import type { HttpPlan, MethodPlan } from '../../../src/api/contract/method-plan.js';
import { fieldRulesOf, restNameOf } from '../../../src/codec/field-rules.js';
import { commentOf, firstSentenceOf } from './comment.js';
import { methodErrors } from './error-responses.js';
import { examplesOf } from './examples.js';
import { answerHeaders } from './headers.js';
import { pascal } from './object-schema.js';
import { parametersOf } from './parameters.js';
import { described, orNull, type Schema } from './schema.js';
import type { SchemaCompiler } from './schema-compiler.js';

/** The input of an operation. The caller compiles `answer`, because all responses are compiled before any request. */
export interface OperationParts {
  readonly plan: MethodPlan;
  readonly http: HttpPlan;
  readonly answer: Schema;
  readonly compiler: SchemaCompiler;
}

/** The body of a request that is passed on. */
const freeBody = { isRequired: false, schema: { description: 'What the plugin takes. A body of another type is passed on, too.' } };

/** Compiles an operation: one verb of one path. */
export function operationOf({ plan, http, answer, compiler }: OperationParts): Schema {
  const { method } = plan;
  const { parameters, taken } = parametersOf(plan, http, compiler);
  const body = http.passesOn ? freeBody : http.hasBody ? compiler.body(method.input, taken) : null;
  const { requests, answer: answerExample } = examplesOf(method);
  const success = {
    description: answerText(plan, http),
    headers: answerHeaders(plan),
    content: {
      [isStream(plan) ? 'text/event-stream' : 'application/json']: {
        schema: answer,
        ...(answerExample === undefined ? {} : { example: answerExample }),
      },
    },
  };
  return {
    operationId: method.localName,
    tags: [tagOf(method.parent)],
    summary: firstSentenceOf(commentOf(method)),
    description: descriptionOf(plan),
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
    responses: {
      [http.successStatus]: success,
      ...(isStream(plan) && { 204: { description: 'There is nothing to come: the transaction is final. Do not connect again.' } }),
      ...methodErrors(plan, http),
    },
  };
}

function isStream({ method }: MethodPlan): boolean {
  return method.methodKind !== 'unary';
}

function answerText(plan: MethodPlan, { bare, responseField }: HttpPlan): string {
  const about = commentOf(plan.method.output) || 'Success.';
  if (isStream(plan)) return 'Server-sent events, without an end.';
  if (bare) return `${about} The response has no envelope.`;
  return responseField === null ? `${about} \`data\` is null.` : about;
}

function descriptionOf(plan: MethodPlan): string {
  // Comments list errors by their RPC codes.
  const [about, rpcErrors] = commentOf(plan.method).split(/\s*Errors: /);
  const facts = [scopeText(plan), ...(plan.rateLimited ? ['Counts towards the rate limit.'] : [])];
  const rpc = `RPC: \`${plan.rpcPath}\`${rpcErrors === undefined ? '.' : `. RPC errors: ${rpcErrors}`}`;
  return [about, facts.join(' '), rpc].join('\n\n');
}

function scopeText({ scope }: MethodPlan): string {
  if (scope === 'public') return 'Needs no API key.';
  return scope === 'authenticated' ? 'Needs any valid API key.' : `Needs an API key with the scope \`${scope}\`.`;
}

/** Returns the group of a service's methods: `ApiKeyService` is `Api key`. */
function tagOf(service: DescService): string {
  return service.name.replace(/Service$/, '').replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Returns all groups in the order of the plans. A group's description includes the RPC-only methods of its service. */
export function tagsOf(plans: readonly MethodPlan[]): readonly Schema[] {
  const services = [...new Set(plans.map(({ method }) => method.parent))];
  return services.map((service) => {
    const rpcOnly = plans.filter(({ method, http }) => method.parent === service && http === null);
    const lines = rpcOnly.map(({ method, rpcPath }) => `RPC only, \`${rpcPath}\`: ${commentOf(method)}`);
    return { name: tagOf(service), description: [commentOf(service), ...lines].join('\n\n') };
  });
}

/** Compiles `data`: the response field, with the fields that have the option `in_data` among its keys. */
function dataSchema({ output }: DescMethod, field: DescField | undefined, compiler: SchemaCompiler): Schema | undefined {
  const more = output.fields.filter((one) => fieldRulesOf(one).inData);
  if (field?.message === undefined || more.length === 0) return field && compiler.field(field, 'answer');
  const properties = more.map((one) => [restNameOf(one), described(compiler.field(one, 'answer'), commentOf(one))]);
  return compiler.extended(field.message, `With${more.map((one) => pascal(restNameOf(one))).join('And')}`, Object.fromEntries(properties));
}

/** Compiles the success of a method: the envelope, named after its data and shared by the methods that return the same, or the bare field. */
export function answerSchema(plan: MethodPlan, http: HttpPlan, compiler: SchemaCompiler): Schema {
  const { output } = plan.method;
  if (isStream(plan)) return eventsSchema(output);
  const schemaOf = (field: DescField | undefined) => (field === undefined ? undefined : compiler.field(field, 'answer'));
  const dataField = output.fields.find(({ name }) => name === http.responseField);
  const shown = dataSchema(plan.method, dataField, compiler);
  const data = shown && dataField && fieldRulesOf(dataField).nullable ? orNull(shown) : shown;
  if (http.bare) return data ?? {};
  const pagination = schemaOf(output.fields.find(({ name }) => name === 'pagination'));
  const metadata = schemaOf(output.fields.find(({ message }) => message?.typeName === ResponseMetadataSchema.typeName));
  const form = pagination ? 'Page' : dataField?.fieldKind === 'list' ? 'ListEnvelope' : 'Envelope';
  const name = `${dataField?.message?.name ?? (http.passesOn ? 'PluginAnswer' : 'Empty')}${form}`;
  return compiler.add(name, {
    title: name,
    type: 'object',
    properties: {
      success: { type: 'boolean', description: 'True.' },
      data: data ?? { type: ['object', 'null'], description: 'Null.' },
      error: { type: ['string', 'null'], description: 'Null.' },
      ...(pagination && { pagination }),
      ...(metadata && { metadata }),
    },
    required: ['success', 'data', 'error', ...(pagination ? ['pagination'] : [])],
    additionalProperties: true,
  });
}

/** The schema of server-sent events. OpenAPI 3.1 describes a stream as a text. */
function eventsSchema({ oneofs, fields }: DescMessage): Schema {
  const id = fields.find((field) => fieldRulesOf(field).lastEventId);
  const lines = (oneofs[0]?.fields ?? []).map((field) => `- \`${field.name}\`: ${commentOf(field)}`);
  const rules = [
    'Each event has `event`, its kind; `data`, JSON on one line; and, except for `error`, `id`, which `Last-Event-ID` takes.',
    id === undefined ? '' : commentOf(id),
    lines.join('\n'),
    '`error` is the last event of a stream that fails. Its `data` is the body of an error.',
  ];
  return { type: 'string', description: rules.join('\n\n') };
}
