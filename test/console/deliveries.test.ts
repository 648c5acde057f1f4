import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { DeliverySchema, DeliveryStatus } from '../../gen/relayer/v1/notification_service_pb.js';
import { deadDeliveries, mergeDeliveries, pendingFirst } from '../../src/console/model/deliveries.js';

const { PENDING, DEAD, DELIVERED } = DeliveryStatus;
const delivery = (id: string, status: DeliveryStatus) => create(DeliverySchema, { id, status });
const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id).join('');

describe('deliveries in the console', () => {
  it('order: pending ones stand first, the others as they were', () => {
    assert.equal(
      ids(pendingFirst([delivery('d', DEAD), delivery('c', PENDING), delivery('b', DELIVERED), delivery('a', PENDING)])),
      'cadb',
    );
  });

  it('merge: new ones come first, known ones get their new state', () => {
    const merged = mergeDeliveries([delivery('b', PENDING), delivery('a', DEAD)], [delivery('c', PENDING), delivery('b', DELIVERED)]);
    assert.equal(ids(merged), 'cba');
    assert.equal(merged[1]?.status, DELIVERED);
  });

  it('dead: finds those of all pages, and loads a page only when it is needed', async () => {
    const pages: Readonly<Record<string, { rows: ReturnType<typeof delivery>[]; nextPageToken: string }>> = {
      '': { rows: [delivery('e', DEAD), delivery('d', PENDING)], nextPageToken: 'two' },
      two: { rows: [delivery('c', DELIVERED)], nextPageToken: 'three' },
      three: { rows: [delivery('b', DEAD), delivery('a', DEAD)], nextPageToken: '' },
    };
    const loaded: string[] = [];
    const found: string[] = [];
    for await (const id of deadDeliveries(async (token) => {
      loaded.push(token);
      return pages[token] ?? { rows: [], nextPageToken: '' };
    })) {
      if (found.length === 0) assert.deepEqual(loaded, ['']);
      found.push(id);
    }
    assert.deepEqual(found, ['e', 'b', 'a']);
    assert.deepEqual(loaded, ['', 'two', 'three']);
  });
});
