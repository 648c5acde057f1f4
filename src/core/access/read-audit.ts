import { invalidField } from '../errors/errors.js';
import type { AuditLineReads } from '../ports/store/audit-lines.js';
import type { PageOf, PageQuery } from '../ports/store/page.js';
import { mayUseRelayer, type Principal, relayerNotAllowed } from '../records/principal.js';
import { type AuditFilter, methodOf, type StoredAuditLine } from '../work/audit-line.js';

/** Which lines a caller asks for. */
export interface AuditQuestion extends Omit<AuditFilter, 'relayerIds'> {
  readonly relayerId?: string | undefined;
}

/**
 * Lists lines of the audit log that the caller may see: with a list of relayers, lines about these alone. Throws `RELAYER_NOT_ALLOWED`, and
 * `FIELD_INVALID` for a text that names no method.
 */
export function readAudit(
  read: AuditLineReads,
  caller: Principal,
  { relayerId, method, ...filter }: AuditQuestion,
  page: PageQuery,
): Promise<PageOf<StoredAuditLine>> {
  if (relayerId !== undefined && !mayUseRelayer(caller, relayerId)) throw relayerNotAllowed(relayerId);
  const relayerIds = relayerId === undefined ? (caller.relayers ?? undefined) : [relayerId];
  return read.auditLines({ ...filter, method: checkedMethod(method), relayerIds: relayerIds && [...relayerIds] }, page);
}

function checkedMethod(method: string | undefined): string | undefined {
  if (method === undefined) return undefined;
  const known = methodOf(method);
  if (known === null) throw invalidField('method', 'must be the name of a method, such as TransactionService.CancelTransaction');
  return known;
}
