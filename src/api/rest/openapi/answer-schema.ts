import type { DescField } from '@bufbuild/protobuf';
import { ResponseMetadataSchema } from '../../../../gen/relayer/v1/common_pb.js';
import type { HttpPlan, MethodPlan } from '../../contract/method-plan.js';
import { commentOf } from './comment.js';
import type { Schema } from './schema.js';
import type { SchemaCompiler } from './schema-compiler.js';

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
