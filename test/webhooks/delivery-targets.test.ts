import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { OutboxEvent } from '../../src/core/records/notification.js';
import { createDeliveryTargets, type Target } from '../../src/webhooks/delivery-targets.js';
import { anEvent } from '../support/stored-samples.js';

const maxHeldBytes = 1_000;

/** Something that happens to one of three notifications. */
const happening = fc.record({
  kind: fc.constantFrom('add', 'serve', 'end', 'pause', 'forget'),
  notificationId: fc.constantFrom('a', 'b', 'c'),
  sizes: fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 4 }),
  isAnswered: fc.boolean(),
});

it('delivery targets: every body that runs or was read ahead counts once, until its attempt ends', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 60, size: 'max' }), (happenings) => {
      const targets = createDeliveryTargets(maxHeldBytes);
      const ready = new Map<string, OutboxEvent[]>();
      const running: { event: OutboxEvent; target: Target }[] = [];
      let made = 0;
      for (const { kind, notificationId, sizes, isAnswered } of happenings) {
        if (kind === 'add' && targets.canTakeMore(notificationId)) {
          const events = sizes.map((size) => anEvent({ id: `e${made++}`, notificationId, orderKey: `o${made}`, body: 'x'.repeat(size) }));
          ready.set(notificationId, [...events]);
          targets.add(notificationId, events);
        }
        if (kind === 'serve')
          targets.serve((event, target) => {
            assert.equal(ready.get(target.notificationId)?.shift(), event);
            running.push({ event, target });
          });
        const [ended] = kind === 'end' ? running.splice(0, 1) : [];
        if (ended !== undefined) {
          targets.noteEnd(ended.target, isAnswered);
          targets.free(ended.event, ended.target);
          targets.dropIfIdle(ended.target);
        }
        const [paused] = kind === 'pause' ? running : [];
        if (paused !== undefined) {
          targets.pause(paused.target, 3_600_000);
          ready.delete(paused.target.notificationId);
        }
        if (kind === 'forget') {
          targets.forgetReady((id) => id === notificationId);
          ready.delete(notificationId);
        }
        const held = [...[...ready.values()].flat(), ...running.map(({ event }) => event)].reduce((sum, { body }) => sum + body.length, 0);
        // A notification that has never answered may fill one half.
        assert.equal(targets.capacityFor('another') > 0, held < maxHeldBytes / 2, `${held} bytes are held`);
        assert.equal(targets.runningOf(notificationId), running.filter(({ target }) => target.notificationId === notificationId).length);
      }
    }),
    { numRuns: 500 },
  );
});

it('delivery targets: read ahead for receivers that answer as far as there is memory, and one at a time for others', () => {
  const megabyte = 1024 * 1024;
  const targets = createDeliveryTargets(100 * megabyte);
  const hold = (id: string, megabytes: number) =>
    targets.add(id, [anEvent({ id, notificationId: id, body: 'x'.repeat(megabytes * megabyte) })]);
  targets.noteEnd({ notificationId: 'answering', running: 0, ready: [] }, true);
  const capacities = () => ['answering', 'another'].map((id) => targets.capacityFor(id));
  assert.deepEqual(capacities(), [64, 1]);
  hold('a', 49);
  assert.deepEqual(capacities(), [51, 1]);
  hold('b', 1);
  assert.deepEqual(capacities(), [50, 0]);
  hold('c', 49);
  assert.deepEqual(capacities(), [1, 0]);
  hold('d', 1);
  assert.deepEqual(capacities(), [0, 0]);
  targets.forgetReady((id) => id === 'b');
  assert.deepEqual(capacities(), [1, 0]);
});
