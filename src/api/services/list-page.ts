import { create } from '@bufbuild/protobuf';
import { type Pagination, PaginationSchema } from '../../../gen/relayer/v1/common_pb.js';
import { invalidField } from '../../core/errors.js';
import type { PageOf, PageQuery } from '../../core/ports/store.js';
import type { Call } from '../contract/call.js';

/** Greatest number of items on a page. */
const maxPerPage = 100;

const defaultPerPage = 10;

/** Which part of a list was asked for. */
export interface Page {
  readonly query: PageQuery;
  /** From 1. */
  readonly currentPage: number;
  /** 1 to 100. */
  readonly perPage: number;
}

/** The page that a request asks for. More than 100 items are 100, with a warning to the call. Throws `FIELD_INVALID`. */
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

/** What the answer says about its place in the list. */
export function paginationOf({ currentPage, perPage }: Page, { total }: Pick<PageOf<unknown>, 'total'>): Pagination {
  return create(PaginationSchema, { currentPage, perPage, totalItems: BigInt(total) });
}
