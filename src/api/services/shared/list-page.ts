import { create, type DescMessage, type Message, toBinary } from '@bufbuild/protobuf';
import { type Pagination, PaginationSchema } from '../../../../gen/relayer/v1/common_pb.js';
import { invalidField } from '../../../core/errors/errors.js';
import { readAll } from '../../../core/errors/read-all.js';
import type { PageOf, PageQuery } from '../../../core/ports/store/page.js';
import type { Call } from '../../contract/call.js';

/** The maximum number of items on a page. */
const maxPerPage = 100;

const defaultPerPage = 10;

/** The maximum size of a page's records over RPC, in bytes: gRPC clients accept messages of at most 4 MiB by default. */
const maxPageBytes = 3 * 1024 * 1024;

/** A request for a page: by its number, or over RPC by the token of the page before. */
interface PageRequest {
  readonly page?: number | undefined;
  readonly perPage?: number | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

type ListCall = Pick<Call, 'warnings' | 'fieldNames'>;

/** The requested page of a list. */
export interface Page {
  /** Over RPC it reads one item more than the page has, which shows whether there is a next page. */
  readonly query: PageQuery;
  /** From 1. */
  readonly currentPage: number;
  /** 1 to 100. */
  readonly perPage: number;
}

/** Checks which page a request asks for. Throws `FIELD_INVALID` with everything that is wrong. */
export function checkPage({ page, perPage, pageSize, pageToken }: PageRequest): void {
  const isPositive = (field: string, value: number | undefined) => () => {
    if (value !== undefined && value < 1) throw invalidField(field, 'must be at least 1');
  };
  readAll({
    page: isPositive('page', page),
    perPage: isPositive('per_page', perPage),
    pageSize: isPositive('page_size', pageSize),
    bothSizes: () => {
      if (perPage !== undefined && pageSize !== undefined) throw invalidField('page_size', 'cannot be combined with per_page');
    },
    bothPlaces: () => {
      if (page !== undefined && pageToken) throw invalidField('page_token', 'cannot be combined with page');
    },
  });
}

/** Returns the page that a request asks for. Limits it to 100 items, with a warning to the call. Throws `FIELD_INVALID`. */
export function pageOf(request: PageRequest, call: ListCall): Page {
  checkPage(request);
  const { page: currentPage = 1, pageToken } = request;
  const name = request.pageSize === undefined ? 'per_page' : 'page_size';
  const wanted = request.pageSize ?? request.perPage ?? defaultPerPage;
  if (wanted > maxPerPage) call.warnings.push({ level: 'warn', message: `${name} is at most ${maxPerPage}; ${maxPerPage} was used` });
  const perPage = Math.min(wanted, maxPerPage);
  const limit = call.fieldNames === 'proto' ? perPage + 1 : perPage;
  const after = pageToken ? { after: Buffer.from(pageToken, 'base64url').toString() } : {};
  return { query: { offset: (currentPage - 1) * perPage, limit, ...after }, currentPage, perPage };
}

/** The 400 for a token that no page of this list has returned, or whose record is gone. */
export function pageTokenInvalid(): Error {
  return invalidField('page_token', 'is not a token of this list, or its record was removed; start again without a token');
}

/** Cuts the requested page out of a whole list. Throws `FIELD_INVALID` for a token of another list. */
export function sliceOf<T>(all: readonly T[], { query: { offset, limit, after } }: Page, idOf: (item: T) => string): PageOf<T> {
  const start = after === undefined ? offset : all.findIndex((item) => idOf(item) === after) + 1;
  if (after !== undefined && start === 0) throw pageTokenInvalid();
  return { items: all.slice(start, start + limit), total: all.length };
}

/** How the items of a list become records. */
export interface Listing<T, M extends Message> {
  readonly desc: DescMessage;
  record(item: T): M;
  /** Identifies a record in its list; the token of the next page is made of the last one's. */
  idOf(record: M): string;
}

/** The fields of every list response; each response has its own name for `records`. */
export interface ListAnswer<M> {
  readonly records: M[];
  readonly pagination: Pagination;
  /** Empty if there is no next page. REST does not have it. */
  readonly nextPageToken: string;
}

/** Returns the records of a page. Over RPC a page has at most 3 MiB: then it has fewer records, and the call gets a warning. */
export function listAnswer<T, M extends Message>(page: Page, found: PageOf<T>, listing: Listing<T, M>, call: ListCall): ListAnswer<M> {
  const pagination = create(PaginationSchema, {
    currentPage: page.currentPage,
    perPage: page.perPage,
    totalItems: BigInt(found.total),
  });
  if (found.hasMore)
    call.warnings.push({
      level: 'warn',
      message: `total_items is ${found.total} because counting stopped there; the list has more records`,
    });
  const fitting = found.items.slice(0, page.perPage).map((item) => listing.record(item));
  if (call.fieldNames === 'rest') return { records: fitting, pagination, nextPageToken: '' };
  const records = withinSize(fitting, listing.desc);
  const count = records.length;
  if (count < fitting.length) {
    const message = `the page has ${count} records, since more would exceed 3 MiB; next_page_token continues with the others`;
    call.warnings.push({ level: 'warn', message });
  }
  const last = records.at(-1);
  const hasNext = last !== undefined && found.items.length > count;
  return { records, pagination, nextPageToken: hasNext ? Buffer.from(listing.idOf(last)).toString('base64url') : '' };
}

/** The first records whose size is allowed, and at least one. */
function withinSize<M extends Message>(records: M[], desc: DescMessage): M[] {
  let bytes = 0;
  const end = records.findIndex((record, index) => {
    bytes += toBinary(desc, record).byteLength;
    return bytes > maxPageBytes && index > 0;
  });
  return end === -1 ? records : records.slice(0, end);
}
