import assert from 'node:assert/strict';
import { it } from 'node:test';
import { webhookStorm } from '../faults/webhook-storm.js';

// `npm run suite -- webhooks` is the long form.
it('webhooks: failing receivers and SIGKILLs lose no delivery and change no order', async (test) => {
  const figures = await webhookStorm({ transactions: 12, kills: 3, seed: 7 });
  test.diagnostic(JSON.stringify(figures));
  assert.ok(figures.events >= 48 && figures.repeats > 0);
});
