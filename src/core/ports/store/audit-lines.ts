import type { AuditFilter, AuditLine, StoredAuditLine } from '../../work/audit-line.js';
import type { Change } from './change.js';
import type { PageOf, PageQuery } from './page.js';

/** Builders of changes of the stored copy of the audit log. */
export interface AuditLineChanges {
  /** Stores lines; a line that is stored already stays as it is. Never fails. */
  putAuditLines(lines: readonly AuditLine[]): Change;
  /**
   * Deletes up to `limit` rows of lines that were written before a time, oldest first; never fails. A line has a row for each transaction.
   */
  deleteAuditLines(beforeMs: number, limit: number): Change;
}

/** Queries of the stored copy of the audit log. */
export interface AuditLineReads {
  /**
   * Lines, newest first. `after`: the id of a line. Counting stops early, see `PageOf`. Throws `FIELD_INVALID` if too many lines would be
   * read for too few.
   */
  auditLines(filter: AuditFilter, page: PageQuery): Promise<PageOf<StoredAuditLine>>;
  /** True if a line was written before this time. */
  hasAuditLineBefore(beforeMs: number): Promise<boolean>;
}
