import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Change, StoreAwayError } from '../../../src/core/ports/store/change.js';
import { hasChange } from '../../../src/core/ports/store/store.js';
import { replaceTransaction } from '../../../src/core/transaction/replace-transaction.js';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { wanted } from '../../support/evm.js';
import { startLaneRig } from '../../support/lane-rig.js';
import { modelRelayer } from '../../support/model-lane.js';

const relayer = modelRelayer('r1', { requiredConfirmations: 3 });

describe('commits whose answer is lost', () => {
  it('a transaction that was stored although its commit failed is sent without a restart', async (test) => {
    let isLost = true;
    const losesAnswer = () => {
      const was = isLost;
      isLost = false;
      return was;
    };
    const rig = await startLaneRig(test, { losesAnswer });
    await assert.rejects(sendTransaction(rig.lane().deps, relayer, wanted()), StoreAwayError);
    const [stored] = (await rig.store.read.transactionsOf('r1', [], { offset: 0, limit: 10 })).items;
    assert.equal(stored?.transaction.status, 'pending');
    await rig.pass(5, 9);
    assert.equal((await rig.transaction(stored.transaction.id)).status, 'confirmed');
  });

  it('an attempt that was stored although its commit failed is broadcast at the next look, and not signed again', async (test) => {
    let commits = 0;
    const rig = await startLaneRig(test, { losesAnswer: () => ++commits === 2 });
    const id = await rig.send();
    const [attempt] = await rig.attempts(id);
    assert.equal(rig.chain.offers.size, 0);
    // The task that failed is not due again yet.
    await rig.see(100);
    assert.deepEqual([...rig.chain.offers.keys()], [attempt?.hash]);
  });

  it('a lane whose commits failed for long signs and broadcasts as soon as the database is back', async (test) => {
    let isAway = true;
    const refuses = (changes: readonly Change[]) => isAway && hasChange(changes, 'insertAttempt');
    const rig = await startLaneRig(test, { refuses, mayLog: /lane task "prepare" failed/ });
    await rig.send();
    for (let tries = 0; tries < 12; tries += 1) await rig.see(10_000);
    isAway = false;
    await rig.see(1);
    assert.equal(rig.chain.offers.size, 0);
    rig.lane().storeReturned();
    await rig.lane().flow();
    assert.equal(rig.chain.offers.size, 1);
  });

  it('a lane without transactions finds what is open in the database that returns', async (test) => {
    const rig = await startLaneRig(test);
    const { deps } = rig.lane();
    // The database shows it late, or has lost the commit that ended it: the lane has not noted that it may be there.
    const { transaction } = await sendTransaction({ ...deps, lanes: { ...deps.lanes, accept: () => undefined } }, relayer, wanted());
    await rig.see(60_000);
    rig.lane().storeReturned();
    await rig.pass(5, 9);
    assert.equal((await rig.transaction(transaction.id)).status, 'confirmed');
  });

  it('a replacement after one whose commit lost its answer outbids that one, and asks for one draft', async (test) => {
    let isLost = false;
    const rig = await startLaneRig(test, { losesAnswer: () => isLost });
    const id = await rig.send();
    const { deps } = rig.lane();
    isLost = true;
    const unanswered = replaceTransaction(deps, relayer, id, wanted({ valueWei: 2n }));
    unanswered.catch(() => undefined);
    await rig.lane().flow();
    await assert.rejects(unanswered, StoreAwayError);
    isLost = false;
    const drafts: string[] = [];
    const replaced = replaceTransaction(deps, relayer, id, wanted({ valueWei: 3n }));
    await rig.lane().flow((name) => name === 'draft' && drafts.push(name));
    assert.equal((await replaced).shown?.version, 3);
    // Each travels to the node and back.
    assert.equal(drafts.length, 2);
  });

  it('a broadcast of several batches survives that the store fails while the second batch is on its way', async (test) => {
    let isAway = false;
    const rig = await startLaneRig(test, { policies: { maxInFlight: 200 }, losesAnswer: () => isAway });
    const refuse = (sentence: string) => rig.chain.setRefusal(() => ({ kind: 'unknown', sentence, because: 'words' }));
    refuse('no');
    const { deps } = rig.lane();
    const sent = await Promise.all(Array.from({ length: 60 }, () => sendTransaction(deps, relayer, wanted())));
    await rig.pass(1);
    assert.equal(rig.chain.offers.size, sent.length);
    // All are broadcast again, and each record gets the new words. A rejection that nothing handles would end the process, and this test.
    refuse('no, again');
    isAway = true;
    await rig.pass(1);
    isAway = false;
    rig.chain.setRefusal(null);
    await rig.pass(8, 99);
    const statuses = await Promise.all(sent.map(async ({ transaction }) => (await rig.transaction(transaction.id)).status));
    assert.deepEqual([...new Set(statuses)], ['confirmed']);
  });
});
