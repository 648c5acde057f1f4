import { it } from 'node:test';
import { startHttpReceiver } from '../support/http-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { openOutbox } from './outbox.js';

it('a receiver that hangs with a long backlog does not block other receivers', async (test) => {
  const hanging = await startHttpReceiver(test, () => undefined);
  const quick = await startHttpReceiver(test, (response) => response.end());
  const outbox = await openOutbox(test);
  const toHanging = await outbox.notification(hanging.url('/'));
  const toQuick = await outbox.notification(quick.url('/'));
  await Promise.all(Array.from({ length: 300 }, (_, index) => outbox.event(toHanging, `slow-${index}`)));
  await outbox.event(toQuick, 'quick');
  outbox.deliver({ timeoutMs: 60_000 });
  await waitFor('the quick delivery', () => outbox.logged('webhook delivered')[0], 5000);
});
