import { create } from '@bufbuild/protobuf';
import { type Pagination, PaginationSchema } from '../../../gen/relayer/v1/common_pb.js';
import { invalidField } from '../../core/errors.js';
import type { PageOf, PageQuery } from '../../core/ports/store.js';
import type { Call } from '../contract/call.js';

/** The maximum number of items on a page. */
const maxPerPage = 100;

const defaultPerPage = 10;

/** The requested page of a list. */
export interface Page {
  readonly query: PageQuery;
  /** From 1. */
  readonly currentPage: number;
  /** 1 to 100. */
  readonly perPage: number;
}

/** Returns the page that a request asks for. Limits it to 100 items, with a warning to the call. Throws `FIELD_INVALID`. */
export function pageOf(
  request: { readonly page?: number | undefined; readonly perPage?: number | undefined },
  call: Pick<Call, 'warnings'>,
): Page {
  const { page: currentPage = 1, perPage: wanted = defaultPerPage } = request;
  if (currentPage < 1) throw invalidField('page', 'must be at least 1');
  if (wanted < 1) throw invalidField('per_page', 'must be at least 1');
  if (wanted > maxPerPage) call.warnings.push({ level: 'warn', message: `per_page is at most ${maxPerPage}; ${maxPerPage} was used` });
  const perPage = Math.min(wanted, maxPerPage);
  return { query: { offset: (currentPage - 1) * perPage, limit: perPage }, currentPage, perPage };
}

/** The pagination of the answer. */
export function paginationOf({ currentPage, perPage }: Page, { total }: Pick<PageOf<unknown>, 'total'>): Pagination {
  return create(PaginationSchema, { currentPage, perPage, totalItems: BigInt(total) });
}

/** Cuts the requested page out of a whole list. */
export function sliceOf<T>(all: readonly T[], page: Page): { readonly items: readonly T[]; readonly pagination: Pagination } {
  const { offset, limit } = page.query;
  return { items: all.slice(offset, offset + limit), pagination: paginationOf(page, { total: all.length }) };
}
