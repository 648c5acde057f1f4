import { create, type DescMessage, type Message } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { LogEntrySchema, LogLevel, type ResponseMetadata, ResponseMetadataSchema } from '../../../gen/relayer/v1/common_pb.js';
import type { Warning } from '../../core/errors/errors.js';
import { callKey } from './call.js';

const levels: Readonly<Record<Warning['level'], LogLevel>> = {
  log: LogLevel.LOG,
  info: LogLevel.INFO,
  error: LogLevel.ERROR,
  warn: LogLevel.WARN,
  debug: LogLevel.DEBUG,
  result: LogLevel.RESULT,
};

/** Creates the interceptor that adds the call's warnings and trace to `metadata` of its response. */
export function createWarnings(): Interceptor {
  return (next) => async (request) => {
    const response = await next(request);
    const call = request.contextValues.get(callKey);
    if (!response.stream && call !== undefined) {
      addWarnings(response.message, response.method.output, call.warnings);
      if (call.traceId !== null) metadataOf(response.message, response.method.output)?.traces.push(call.traceId);
    }
    return response;
  };
}

/** Adds the warnings to `metadata.logs` of a response, if it has metadata and there are any. */
export function addWarnings(response: Message, schema: DescMessage, warnings: readonly Warning[]): void {
  if (warnings.length === 0) return;
  const entries = warnings.map(({ level, message: text }) => create(LogEntrySchema, { level: levels[level], message: text }));
  metadataOf(response, schema)?.logs.push(...entries);
}

/** Returns the metadata of a response, created if unset; undefined if the response type has none. */
function metadataOf(response: Message, schema: DescMessage): ResponseMetadata | undefined {
  if (schema.field.metadata?.message?.typeName !== ResponseMetadataSchema.typeName) return undefined;
  const message = response as Message & { metadata?: ResponseMetadata };
  message.metadata ??= create(ResponseMetadataSchema);
  return message.metadata;
}
