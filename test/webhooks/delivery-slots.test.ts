import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createDeliverySlots, maxRemembered } from '../../src/webhooks/delivery-slots.js';

it('delivery slots: receivers that were called long ago are forgotten, so that their number in memory is bounded', () => {
  const slots = createDeliverySlots();
  const answer = (notificationId: string) => slots.noteEnd({ notificationId, running: 0 }, true);
  const ids = Array.from({ length: 3 * maxRemembered }, (_, index) => `n${index}`);
  for (const id of ids) {
    answer(id);
    answer('busy');
  }
  const known = [...ids, 'busy'].filter(slots.isAnswering);
  assert.equal(known.length, maxRemembered);
  assert.deepEqual([known.at(-1), known.at(-2), slots.isAnswering('n0')], ['busy', ids.at(-1), false]);
});
