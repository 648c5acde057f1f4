import assert from 'node:assert/strict';
import { it } from 'node:test';
import { askWithin, ProviderError } from '../../../src/signers/hosted/key-provider.js';

it('a provider without an answer in time: is unreachable, and the sentence says for how many seconds it was waited for', async () => {
  let isAborted = false;
  const never = (signal: AbortSignal): Promise<string> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        isAborted = true;
        reject(signal.reason);
      });
    });
  await assert.rejects(askWithin(250, never), (error: unknown) => {
    assert.ok(error instanceof ProviderError);
    assert.deepEqual([error.problem, error.message], ['unreachable', 'no answer within 0.25 s']);
    return true;
  });
  assert.equal(isAborted, true);
  assert.equal(await askWithin(60_000, async () => 'in time'), 'in time');
});
