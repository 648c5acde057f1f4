import type { DescField, DescMethod } from '@bufbuild/protobuf';
import { FieldMaskSchema } from '@bufbuild/protobuf/wkt';
import type { HttpPlan, MethodPlan } from '../../../src/api/contract/method-plan.js';
import { parsePathTemplate } from '../../../src/api/rest/path-template.js';
import { ifMatchPattern, requiredIfMatchPattern } from '../../../src/api/rest/request-reader.js';
import { fieldRulesOf, integerRangeOf, restNameOf, scalarTypeOf, textSyntaxOf } from '../../../src/codec/field-rules.js';
import { commentOf } from './comment.js';
import { parameterExample } from './examples.js';
import { integerTextSchema } from './scalar-schema.js';
import { refTo, type Schema } from './schema.js';
import type { SchemaCompiler } from './schema-compiler.js';

/** The parameters that methods share, by name. */
export const parameterComponents: Readonly<Record<string, Schema>> = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Makes the call safe to repeat. The service stores the response of a successful call for 24 hours, and returns it, with the header `Idempotency-Replayed: true`, if the same request arrives again with the same key. The same key with a different request returns 422; a repeated request while the first one runs returns 409. 1 to 255 visible ASCII characters.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'Makes the call change the record only if it still has this revision, in quotes: `"3"`. With another revision the call returns 412 and changes nothing. `*` allows every revision.',
    schema: { type: 'string', pattern: ifMatchPattern.source },
  },
  RequiredIfMatch: {
    name: 'If-Match',
    in: 'header',
    required: true,
    description:
      'The revision of the record that was read, in quotes: `"3"`. If the record has another revision, the call returns 412 and changes nothing.',
    schema: { type: 'string', pattern: requiredIfMatchPattern.source },
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'The `id` of the last event that the caller got from a watch with the same ids. The stream continues after that event.',
    schema: { type: 'string' },
  },
  Prefer: {
    name: 'Prefer',
    in: 'header',
    required: false,
    description:
      '`wait=<seconds>, until=<state>`: the call waits, at most 120 seconds, until the transaction is `submitted`, `mined` (the default) or `final`. Other preferences are ignored.',
    schema: { type: 'string' },
  },
};

/** The parameters of a request, and the fields that are not keys of its body. */
export interface Parameters {
  readonly parameters: readonly Schema[];
  readonly taken: ReadonlySet<string>;
}

/** Returns the parameters of a method: path variables, headers, and, without a body, the other fields as query parameters. */
export function parametersOf(plan: MethodPlan, http: HttpPlan, compiler: SchemaCompiler): Parameters {
  const { fields } = plan.method.input;
  const names = parsePathTemplate(http.template).flatMap((segment) => (segment.kind === 'variable' ? [segment.name] : []));
  const guarded = fields.filter((field) => fieldRulesOf(field).ifMatch);
  const taken = new Set([
    ...names,
    ...fields
      .filter((field) => field.message?.typeName === FieldMaskSchema.typeName || fieldRulesOf(field).rpcOnly)
      .map(({ name }) => name),
  ]);
  const inPath = fields.filter(({ name }) => names.includes(name)).map((field) => parameter(plan.method, field, 'path', compiler));
  const inQuery = http.hasBody
    ? []
    : fields.filter(({ name }) => !taken.has(name)).map((field) => parameter(plan.method, field, 'query', compiler));
  const inHeader = [
    ...(plan.idempotent ? [refTo('parameters', 'IdempotencyKey')] : []),
    ...guarded.map((field) => refTo('parameters', fieldRulesOf(field).required ? 'RequiredIfMatch' : 'IfMatch')),
    ...(fields.some((field) => fieldRulesOf(field).lastEventId) ? [refTo('parameters', 'LastEventId')] : []),
    ...(fields.some((field) => fieldRulesOf(field).prefer !== '') ? [refTo('parameters', 'Prefer')] : []),
  ];
  return { parameters: [...inPath, ...inQuery, ...inHeader], taken };
}

function parameter(method: DescMethod, field: DescField, place: 'path' | 'query', compiler: SchemaCompiler): Schema {
  const item = itemSchema(field, compiler);
  const isList = field.fieldKind === 'list';
  const example = place === 'path' ? parameterExample(method, field.name) : undefined;
  return {
    name: restNameOf(field),
    in: place,
    required: place === 'path',
    description: commentOf(field),
    schema: isList ? { type: 'array', items: item } : item,
    // `status=a&status=b`, not `status=a,b`.
    ...(isList ? { style: 'form', explode: true } : {}),
    ...(example === undefined ? {} : { example }),
  };
}

function itemSchema(field: DescField, compiler: SchemaCompiler): Schema {
  if (field.enum !== undefined) return compiler.enum(field.enum);
  if (integerRangeOf(scalarTypeOf(field)) !== undefined) return integerTextSchema(field);
  const syntax = textSyntaxOf(field);
  return syntax === undefined ? { type: 'string' } : { type: 'string', pattern: (syntax.shownPattern ?? syntax.pattern).source };
}
