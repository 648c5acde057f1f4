import type { DomainError } from '../../core/errors.js';
import type { Call } from '../contract/call.js';
import { errorTable } from '../contract/error-table.js';

/** The envelope of a success. Its parts are JSON texts; undefined parts are left out. */
export function successText(data: string, pagination: string | undefined, metadata: string | undefined): string {
  const paginationText = pagination === undefined ? '' : `,"pagination":${pagination}`;
  const metadataText = metadata === undefined ? '' : `,"metadata":${metadata}`;
  return `{"success":true,"data":${data},"error":null${paginationText}${metadataText}}`;
}

/** The envelope of an error: the sentence for a person, the fixed text for a program, and what there is to tell beside it. */
export function errorText(error: DomainError, { warnings, traceId }: Pick<Call, 'warnings' | 'traceId'>): string {
  const message = error.fixedText ?? errorTable[error.kind].text;
  const logs = warnings.map(({ level, message: warning }) => ({ level, message: warning }));
  const traces = traceId === null ? [] : [traceId];
  const metadataText = logs.length + traces.length === 0 ? '' : `,"metadata":${JSON.stringify({ logs, traces })}`;
  return `{"success":false,"data":null,"error":${JSON.stringify(error.message)},"message":${JSON.stringify(message)}${metadataText}}`;
}
