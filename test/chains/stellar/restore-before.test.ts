import assert from 'node:assert/strict';
import { it } from 'node:test';
import { xdr } from '@stellar/stellar-sdk';
import { restoreBefore } from '../../../src/chains/stellar/restore-before.js';
import { defaultPolicies } from '../../../src/core/records/relayer.js';
import type { StellarOperationsContent } from '../../../src/core/records/stellar.js';

const call: StellarOperationsContent = {
  network: 'stellar',
  kind: 'operations',
  sourceAccount: 'GA',
  operations: ['the call'],
  memo: 'memo',
  auth: 'simulated',
  sorobanData: null,
  minTimeS: 3n,
  maxTimeS: 5n,
  validityMs: null,
  maxFeeStroops: 1_000n,
};

it('restore before a call: the maximum fee of the call limits both, in proportion to their resource fees', () => {
  const preamble = { sorobanData: 'entries', resourceFeeStroops: 299n };
  const before = restoreBefore(call, { resourceFeeStroops: 99n }, preamble, defaultPolicies.stellar);
  const { operations, ...content } = onlyOperations(before.content);
  const { operations: _, ...rest } = call;
  assert.deepEqual(content, { ...rest, auth: 'given', sorobanData: 'entries', maxFeeStroops: 750n });
  assert.deepEqual(
    operations.map((text) => xdr.Operation.fromXdr(text, 'base64').body.type),
    ['restoreFootprint'],
  );
  assert.equal(before.does, 'restores archived ledger entries that it uses');
  assert.equal(before.sent, null);
  assert.deepEqual(before.neededBy('restore'), { ...call, maxFeeStroops: 250n, restoredBy: 'restore' });
  const again = restoreBefore({ ...call, restoredBy: 'earlier' }, { resourceFeeStroops: 99n }, preamble, defaultPolicies.stellar);
  assert.equal(again.sent, 'earlier');
});

function onlyOperations(content: ReturnType<typeof restoreBefore>['content']): StellarOperationsContent {
  return content.network === 'stellar' && content.kind === 'operations' ? content : assert.fail();
}
