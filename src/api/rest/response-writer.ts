import type { Message } from '@bufbuild/protobuf';
import { ResponseMetadataSchema } from '../../../gen/relayer/v1/common_pb.js';
import { fieldRulesOf, restNameOf } from '../../codec/field-rules.js';
import type { CodecCompiler } from '../../codec/message-codec.js';
import type { Properties, ValueCodec } from '../../codec/reading.js';
import type { MethodPlan } from '../contract/method-plan.js';

/** Writes a response message as the JSON text of the answer. */
export type ResponseWriter = (response: Message) => string;

/** Compiles the writer of a method's responses: one field becomes `data`, with `pagination` and `metadata` next to it. */
export function compileResponseWriter(plan: MethodPlan, compiler: CodecCompiler): ResponseWriter {
  if (plan.http === null) throw new Error(`${plan.rpcPath} has no REST route`);
  const { responseField, bare } = plan.http;
  if (bare && responseField === null) throw new Error(`${plan.rpcPath} answers bare, but names no response field`);
  const data = responseField === null ? null : dataTextOf(plan, responseField, compiler);
  const hasPagination = plan.method.output.fields.some((field) => field.name === 'pagination');
  const pagination = hasPagination ? fieldTextOf(plan, 'pagination', compiler) : null;
  const metadata = metadataTextOf(plan, compiler);
  return (response) => {
    const message = response as unknown as Properties;
    const dataText = data?.(message) ?? 'null';
    return bare ? dataText : successText(dataText, pagination?.(message), metadata?.(message));
  };
}

/** The JSON text of `data`: the response field, with the fields that have the option `in_data` among its keys. */
function dataTextOf(plan: MethodPlan, name: string, compiler: CodecCompiler): (message: Properties) => string | undefined {
  const data = fieldTextOf(plan, name, compiler);
  const more = plan.method.output.fields
    .filter((field) => fieldRulesOf(field).inData)
    .map((field) => ({ start: `,${JSON.stringify(restNameOf(field))}:`, text: fieldTextOf(plan, field.name, compiler) }));
  if (more.length === 0) return data;
  return (message) => {
    const members = more.map(({ start, text }) => start + (text(message) ?? 'null'));
    return data(message)?.replace(/\}$/, () => `${members.join('')}}`);
  };
}

/** The JSON text of a field; undefined if the field is not set. */
function fieldTextOf(plan: MethodPlan, name: string, compiler: CodecCompiler): (message: Properties) => string | undefined {
  const field = plan.method.output.fields.find((one) => one.name === name);
  if (field === undefined || field.oneof !== undefined)
    throw new Error(`${plan.rpcPath} answers with ${name}, which is no plain field of its response`);
  const codec: ValueCodec = compiler.field(field);
  return (message) => (message[field.localName] === undefined ? undefined : codec.write(message[field.localName]));
}

/** The JSON text of the metadata; undefined if there is none to show. */
function metadataTextOf(plan: MethodPlan, compiler: CodecCompiler): ((message: Properties) => string | undefined) | null {
  const field = plan.method.output.fields.find((one) => one.message?.typeName === ResponseMetadataSchema.typeName);
  if (field === undefined) return null;
  const codec = compiler.field(field);
  return (message) => {
    const metadata = message[field.localName] as { readonly logs: unknown[]; readonly traces: unknown[] } | undefined;
    return metadata === undefined || metadata.logs.length + metadata.traces.length === 0 ? undefined : codec.write(metadata);
  };
}

/** The envelope of a success. Its parts are JSON texts; undefined parts are left out. */
function successText(data: string, pagination: string | undefined, metadata: string | undefined): string {
  const paginationText = pagination === undefined ? '' : `,"pagination":${pagination}`;
  const metadataText = metadata === undefined ? '' : `,"metadata":${metadata}`;
  return `{"success":true,"data":${data},"error":null${paginationText}${metadataText}}`;
}
