import assert from 'node:assert/strict';
import { it } from 'node:test';
import { pageOf, paginationOf, sliceOf } from '../../../src/api/services/list-page.js';
import { DomainError, type Warning } from '../../../src/core/errors.js';

const newCall = (): { warnings: Warning[] } => ({ warnings: [] });

it('list page: defaults to the first ten items', () => {
  assert.deepEqual(pageOf({}, newCall()), { query: { offset: 0, limit: 10 }, currentPage: 1, perPage: 10 });
});

it('list page: counts pages from 1', () => {
  assert.deepEqual(pageOf({ page: 3, perPage: 25 }, newCall()), { query: { offset: 50, limit: 25 }, currentPage: 3, perPage: 25 });
});

it('list page: limits per_page to 100 with a warning', () => {
  const call = newCall();
  assert.deepEqual(pageOf({ page: 2, perPage: 101 }, call), { query: { offset: 100, limit: 100 }, currentPage: 2, perPage: 100 });
  assert.deepEqual(call.warnings, [{ level: 'warn', message: 'per_page is at most 100; 100 was used' }]);
  const exact = newCall();
  pageOf({ perPage: 100 }, exact);
  assert.deepEqual(exact.warnings, []);
});

it('list page: rejects zero and names the field', () => {
  for (const [request, field] of [
    [{ page: 0 }, 'page'],
    [{ perPage: 0 }, 'per_page'],
  ] as const) {
    assert.throws(
      () => pageOf(request, newCall()),
      (error: unknown) => error instanceof DomainError && error.reason === 'FIELD_INVALID' && error.fields[0]?.field === field,
    );
  }
});

it('list page: reports the total', () => {
  const { currentPage, perPage, totalItems } = paginationOf(pageOf({ page: 9, perPage: 500 }, newCall()), { total: 7 });
  assert.deepEqual({ currentPage, perPage, totalItems }, { currentPage: 9, perPage: 100, totalItems: 7n });
});

it('list page: cuts the requested page out of a whole list', () => {
  const page = pageOf({ page: 2, perPage: 3 }, newCall());
  const { items, pagination } = sliceOf([1, 2, 3, 4, 5], page);
  assert.deepEqual([items, pagination.totalItems], [[4, 5], 5n]);
  assert.deepEqual(sliceOf([1, 2], page).items, []);
});
