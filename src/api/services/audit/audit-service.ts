import { create } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import { type AuditLine, AuditLineSchema, type AuditService } from '../../../../gen/relayer/v1/audit_service_pb.js';
import { readAudit } from '../../../core/access/read-audit.js';
import type { AuditLineReads } from '../../../core/ports/store/audit-lines.js';
import { auditSubjects, auditTimeOf, isAuditLineId, type StoredAuditLine } from '../../../core/work/audit-line.js';
import { callOf, principalOf } from '../../contract/call.js';
import { type Listing, listAnswer, pageOf, pageTokenInvalid } from '../shared/list-page.js';
import { present } from '../shared/present.js';

/** The dependencies of the service. */
export interface AuditServiceDeps {
  readonly store: { readonly read: AuditLineReads };
}

/** Implements `relayer.v1.AuditService`. */
export function createAuditService({ store }: AuditServiceDeps): ServiceImpl<typeof AuditService> {
  return {
    async listAuditLines(request, context) {
      const call = callOf(context);
      const page = pageOf(request, call);
      const { after } = page.query;
      if (after !== undefined && !isAuditLineId(after)) throw pageTokenInvalid();
      const { apiKeyId: keyId, relayerId, transactionId, method, createdAfter, createdBefore } = request;
      const times = { fromMs: createdAfter && timestampMs(createdAfter), beforeMs: createdBefore && timestampMs(createdBefore) };
      const question = { keyId, relayerId, transactionId, method, ...times };
      const found = await readAudit(store.read, principalOf(context), question, page.query);
      const { records: lines, ...rest } = listAnswer(page, found, listing, call);
      return { lines, ...rest };
    },
  };
}

const listing: Listing<StoredAuditLine, AuditLine> = { desc: AuditLineSchema, record: protoOfLine, idOf: ({ id }) => id };

/** The record of a line. Texts in place of ids stay in the line alone. */
function protoOfLine({ id, text }: StoredAuditLine): AuditLine {
  const fields: Readonly<Record<string, unknown>> = JSON.parse(text);
  const { keyId, method, relayerId, transactionIds } = auditSubjects(fields);
  return create(AuditLineSchema, {
    id,
    createdAt: timestampFromMs(auditTimeOf(id)),
    transactionIds: [...transactionIds],
    line: text,
    ...present('apiKeyId', keyId),
    ...present('apiKeyName', textOf(fields.keyName)),
    ...present('event', textOf(fields.event)),
    ...present('method', method),
    ...present('relayerId', relayerId),
    ...present('outcome', textOf(fields.outcome)),
    ...present('requestId', textOf(fields.requestId)),
    ...present('address', textOf(fields.address)),
  });
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
