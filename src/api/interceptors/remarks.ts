import { create, type DescMessage, type Message } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { LogEntrySchema, LogLevel, type ResponseMetadata, ResponseMetadataSchema } from '../../../gen/relayer/v1/common_pb.js';
import { callKey, type Remark } from '../call.js';

const levels: Readonly<Record<Remark['level'], LogLevel>> = {
  log: LogLevel.LOG,
  info: LogLevel.INFO,
  error: LogLevel.ERROR,
  warn: LogLevel.WARN,
  debug: LogLevel.DEBUG,
  result: LogLevel.RESULT,
};

/** Puts the call's remarks into `metadata.logs` of its response, where the response has metadata and there is something to tell. */
export function createRemarks(): Interceptor {
  return (next) => async (request) => {
    const response = await next(request);
    const remarks = request.contextValues.get(callKey)?.remarks ?? [];
    if (!response.stream) addRemarks(response.message, response.method.output, remarks);
    return response;
  };
}

/** Adds the remarks to `metadata.logs` of a response, where it has metadata and there is something to tell. */
export function addRemarks(response: Message, schema: DescMessage, remarks: readonly Remark[]): void {
  if (remarks.length === 0 || schema.field.metadata?.message?.typeName !== ResponseMetadataSchema.typeName) return;
  const message = response as Message & { metadata?: ResponseMetadata };
  message.metadata ??= create(ResponseMetadataSchema);
  message.metadata.logs.push(...remarks.map(({ level, message: text }) => create(LogEntrySchema, { level: levels[level], message: text })));
}
