import assert from 'node:assert/strict';
import { it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { type Signer, SignerSchema } from '../../../../gen/relayer/v1/signer_service_pb.js';
import { type Listing, listAnswer, pageOf, sliceOf } from '../../../../src/api/services/shared/list-page.js';
import { DomainError, type Warning } from '../../../../src/core/errors/errors.js';

const newCall = (fieldNames: 'rest' | 'proto' = 'rest'): { warnings: Warning[]; fieldNames: 'rest' | 'proto' } => ({
  warnings: [],
  fieldNames,
});

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
    [{ pageSize: 0 }, 'page_size'],
    [{ pageSize: 1, perPage: 1 }, 'page_size'],
    [{ page: 2, pageToken: 'YQ' }, 'page_token'],
  ] as const) {
    assert.throws(
      () => pageOf(request, newCall()),
      (error: unknown) => error instanceof DomainError && error.reason === 'FIELD_INVALID' && error.fields[0]?.field === field,
    );
  }
});

const listing: Listing<Signer, Signer> = { desc: SignerSchema, record: (signer) => signer, idOf: ({ id }) => id };
const signersOf = (...ids: readonly string[]) => ids.map((id) => create(SignerSchema, { id }));

it('list page: reports the total', () => {
  const page = pageOf({ page: 9, perPage: 500 }, newCall());
  const { currentPage, perPage, totalItems } = listAnswer(page, { items: [], total: 7 }, listing, newCall()).pagination;
  assert.deepEqual({ currentPage, perPage, totalItems }, { currentPage: 9, perPage: 100, totalItems: 7n });
});

it('list page: cuts the requested page out of a whole list', () => {
  const page = pageOf({ page: 2, perPage: 3 }, newCall());
  assert.deepEqual(sliceOf([1, 2, 3, 4, 5], page, String), { items: [4, 5], total: 5 });
  assert.deepEqual(sliceOf([1, 2], page, String).items, []);
});

it('list page: a token continues behind its record, even if newer records came in front', () => {
  const call = newCall('proto');
  const read = (ids: readonly string[], pageToken: string) => {
    const page = pageOf({ pageSize: 2, pageToken }, call);
    const { records, nextPageToken } = listAnswer(
      page,
      sliceOf(signersOf(...ids), page, ({ id }) => id),
      listing,
      call,
    );
    return { ids: records.map(({ id }) => id), nextPageToken };
  };
  const first = read(['d', 'c', 'b', 'a'], '');
  assert.deepEqual(first.ids, ['d', 'c']);
  const second = read(['f', 'e', 'd', 'c', 'b', 'a'], first.nextPageToken);
  assert.deepEqual(second, { ids: ['b', 'a'], nextPageToken: '' });
  assert.throws(() => read(['b', 'a'], first.nextPageToken), { reason: 'FIELD_INVALID' });
});

it('list page: has at most 3 MiB and at least one record over RPC, with a warning and a token', () => {
  const mib = (id: string, count: number) => create(SignerSchema, { id: id.repeat(count * 1024 * 1024) });
  const call = newCall('proto');
  const items = [mib('a', 1), mib('b', 1), mib('c', 2)];
  const page = pageOf({}, call);
  const cut = listAnswer(page, { items, total: 3 }, listing, call);
  assert.equal(cut.records.length, 2);
  assert.equal(cut.nextPageToken, Buffer.from('b'.repeat(1024 * 1024)).toString('base64url'));
  assert.match(call.warnings[0]?.message ?? '', /^the page has 2 records, since more would exceed 3 MiB/);
  assert.equal(listAnswer(page, { items: [mib('a', 4), mib('b', 1)], total: 2 }, listing, newCall('proto')).records.length, 1);
  assert.equal(listAnswer(page, { items, total: 3 }, listing, newCall('rest')).records.length, 3);
});

it('list page: warns if a list has more records than were counted', () => {
  const call = newCall();
  const page = pageOf({}, call);
  listAnswer(page, { items: [], total: 7 }, listing, call);
  assert.deepEqual(call.warnings, []);
  listAnswer(page, { items: [], total: 7, hasMore: true }, listing, call);
  assert.deepEqual(call.warnings, [
    { level: 'warn', message: 'total_items is 7 because counting stopped there; the list has more records' },
  ]);
});
