import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { PartRule } from '../../src/core/records/spending-rule.js';
import type { Transaction } from '../../src/core/records/transaction.js';
import { type StellarRig, type StellarRigOptions, startStellarRig } from '../support/engine-rig.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

/** Starts with archived contract entries, which the nodes want restored before a call. */
async function start(test: TestContext, options: Partial<StellarRigOptions> = {}): Promise<StellarRig> {
  const rig = await startStellarRig({ folder: await temporaryFolder(), ...options });
  test.after(() => rig.stop());
  for (const node of rig.nodes) node.setRestoring('before it');
  rig.node.ledger.archiveContracts();
  return rig;
}

async function call(rig: StellarRig, maxFeeStroops?: bigint): Promise<string> {
  const contractAddress = rig.node.ledger.testContract;
  const args = [{ kind: 'u32', value: 1 } as const];
  const operations = [{ kind: 'invoke_contract', contractAddress, functionName: 'increment', args, auth: undefined } as const];
  return (await rig.send({ operations, maxFeeStroops })).transaction.id;
}

/** The transactions that the service has sent before this one. */
async function sentBefore(rig: StellarRig, id: string): Promise<readonly Transaction[]> {
  const ids = [...rig.told.keys()].filter((one) => one !== id);
  const views = await Promise.all(ids.map((one) => rig.view(one)));
  return views
    .map(({ transaction }) => transaction)
    .filter(({ tags }) => tags?.labels.some(({ key, value }) => key === 'needed_by' && value === id) === true);
}

async function theOneBefore(rig: StellarRig, id: string): Promise<Transaction> {
  const [one, ...more] = await waitFor('the transaction before it', async () => {
    const found = await sentBefore(rig, id);
    return found.length === 0 ? undefined : found;
  });
  assert.ok(one !== undefined);
  assert.deepEqual(more, []);
  return one;
}

function isLive({ node: { ledger } }: StellarRig): boolean {
  const { contracts } = ledger.latest().state;
  return [...contracts.values()].every(({ liveUntil }) => liveUntil > ledger.latest().sequence);
}

describe('archived entries that a transaction before the call must restore', { concurrency: 4 }, () => {
  it('are restored in a slot of its own, which records and events tell, and then the call lands', async (test) => {
    const rig = await start(test);
    const maxFeeStroops = 400_000n;
    const id = await call(rig, maxFeeStroops);
    const before = await theOneBefore(rig, id);
    const { transaction: waiting } = await rig.view(id);
    assert.deepEqual(
      [waiting.status, waiting.statusReason],
      ['pending', `waiting: transaction ${before.id} restores archived ledger entries that it uses; will send when that is mined`],
    );
    assert.ok(!isLive(rig));
    const { transaction: restore } = await rig.untilWithBlocks(before.id, 'confirmed');
    const { transaction: landed } = await rig.untilWithBlocks(id, 'confirmed');
    assert.ok(isLive(rig));
    assert.equal(landed.nonce, (restore.nonce ?? 0n) + 1n);
    assert.ok((landed.mined?.blockNumber ?? 0n) > (restore.mined?.blockNumber ?? 0n));
    assert.deepEqual(rig.told.get(before.id), ['sent', 'submitted', 'mined', 'confirmed']);
    const bids = [...(await rig.attempts(before.id)), ...(await rig.attempts(id))].map(({ fields }) =>
      fields.network === 'stellar' ? fields.bid.feeStroops : 0n,
    );
    assert.equal(bids.length, 2);
    assert.ok(bids.reduce((sum, bid) => sum + bid, 0n) <= maxFeeStroops, `${bids}`);
    const next = await call(rig);
    await rig.untilWithBlocks(next, 'confirmed');
    assert.deepEqual(await sentBefore(rig, next), []);
  });

  it('are not restored for a call whose cost a rule limits, since the fee of that would not count', async (test) => {
    const rule: PartRule = {
      ...{ id: 'calls', effect: 'allow', kinds: null, calls: null, to: null, assets: null, maxAmount: null, apiKeyIds: null },
      ...{ maxCost: 10n ** 9n, limits: [], approvals: null, approvalMs: null },
    };
    const rig = await start(test, { policies: { rules: [rule] } });
    const id = await call(rig);
    const { transaction } = await rig.untilWithBlocks(id, 'failed');
    assert.match(transaction.statusReason ?? '', /restore them first, since max_cost of the rule calls is for the call alone$/);
    assert.deepEqual(await sentBefore(rig, id), []);
  });

  it('are not restored if the policy forbids that', async (test) => {
    const rig = await start(test, { policies: { restoreArchived: false } });
    const id = await call(rig);
    const { transaction } = await rig.untilWithBlocks(id, 'failed');
    assert.match(transaction.statusReason ?? '', /policy restore_archived forbids to restore$/);
    assert.deepEqual(await sentBefore(rig, id), []);
  });

  it('are not restored if max_fee does not cover that and the call', async (test) => {
    const rig = await start(test);
    const id = await call(rig, 1_000n);
    const { transaction } = await rig.untilWithBlocks(id, 'failed');
    assert.equal(transaction.failureReason, 'fee_limit');
    assert.match(transaction.statusReason ?? '', /^a transaction must be mined before this one, and cannot be sent: max_fee allows/);
    assert.deepEqual(await sentBefore(rig, id), []);
  });

  it('are not restored because one node of two says so', async (test) => {
    const rig = await start(test, { nodeCount: 2 });
    rig.nodes[1]?.setRestoring('in the call');
    const id = await call(rig);
    await rig.untilWithBlocks(id, 'confirmed');
    assert.deepEqual(await sentBefore(rig, id), []);
  });

  it('are restored on the word of one node only if no other one answers for a while', async (test) => {
    const rig = await start(test, { nodeCount: 2 });
    rig.nodes[1]?.setOutcome((method) => (method === 'simulateTransaction' ? { refusedWith: 503 } : null));
    const id = await call(rig);
    await waitFor(
      'the doubted reason',
      async () =>
        /which a transaction before it must restore; retrying$/.test((await rig.view(id)).transaction.statusReason ?? '') || undefined,
    );
    assert.deepEqual(await sentBefore(rig, id), []);
    rig.clock.moveOn(61_000);
    await rig.untilWithBlocks(id, 'confirmed');
    await theOneBefore(rig, id);
  });

  it('are restored once, although the nodes go on asking for that', async (test) => {
    let preamble: unknown;
    const rig = await start(test, {
      async answerOf(_, asked, ask) {
        const answer = await ask(asked);
        if (asked.method !== 'simulateTransaction' || !('result' in answer)) return answer;
        const result = answer.result as { readonly restorePreamble?: unknown; readonly results?: unknown };
        if (result.results === undefined) return answer;
        preamble ??= result.restorePreamble;
        return { result: { ...result, restorePreamble: preamble } };
      },
    });
    const id = await call(rig);
    const before = await theOneBefore(rig, id);
    await rig.untilWithBlocks(before.id, 'confirmed');
    await waitFor(
      'the doubted reason',
      async () => /which was sent for that, did not; retrying$/.test((await rig.view(id)).transaction.statusReason ?? '') || undefined,
    );
    rig.clock.moveOn(61_000);
    const { transaction } = await rig.untilWithBlocks(id, 'failed');
    assert.equal(transaction.failureReason, 'would_revert');
    assert.match(transaction.statusReason ?? '', new RegExp(`transaction ${before.id}, which was sent for that, did not$`));
    await theOneBefore(rig, id);
  });
});
