import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { DomainError } from '../../src/core/errors/errors.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Store } from '../../src/core/ports/store/store.js';
import { onNetwork } from '../../src/core/records/on-network.js';
import { laneOf, type RelayerPolicies } from '../../src/core/records/relayer.js';
import type { EvmRule, PartRule } from '../../src/core/records/spending-rule.js';
import type { TransactionView } from '../../src/core/records/transaction.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { approveTransaction, rejectTransaction } from '../../src/core/transaction/decide-approval.js';
import { noOrigin } from '../../src/core/transaction/journal.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { sendTransaction, type TransactionDeps } from '../../src/core/transaction/send-transaction.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createRemoteLane } from '../../src/engine/lane/remote-lane.js';
import { openStore } from '../../src/storage/open-store.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type EngineRig, type EvmRig, startEvmRig, startSolanaRig, startStellarRig, untilReason } from '../support/engine-rig.js';
import { wanted } from '../support/evm.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { solanaKey, transferInstruction } from '../support/solana.js';
import { payment, stellarKey } from '../support/stellar.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const minuteMs = 60_000;
const rule: EvmRule = {
  ...{
    id: 'any',
    effect: 'allow',
    to: null,
    functions: null,
    typedData: null,
    deadlineField: null,
    arguments: [],
    maxValueWei: null,
    maxCostWei: null,
    apiKeyIds: null,
    limits: [],
  },
  ...{ approvals: null, approvalMs: null },
};
/** Small amounts need no approval. */
const rules: readonly EvmRule[] = [
  { ...rule, id: 'small', maxValueWei: 9n },
  { ...rule, id: 'large', effect: 'approve', approvals: 2, approvalMs: minuteMs },
];

/** The engine with a receiver of its own, and the drafts that it asked for. */
interface Started {
  readonly rig: EvmRig;
  readonly to: string;
  readonly drafts: bigint[];
}

let receivers = 0;

async function start(
  test: TestContext,
  anvil: Anvil,
  options: { readonly store?: Store; readonly folder?: string } = {},
): Promise<Started> {
  const drafts: bigint[] = [];
  const changedChain = (chain: Chain): Chain => ({
    ...chain,
    draft(request) {
      if (request.content !== 'filler') drafts.push(onNetwork('evm', request.content).valueWei);
      return chain.draft(request);
    },
  });
  const { folder = await temporaryFolder(), ...more } = options;
  const rig = await startEvmRig(anvil, { folder, policies: { rules }, changedChain, ...more });
  test.after(() => rig.stop());
  receivers += 1;
  return { rig, to: `0x${receivers.toString(16).padStart(40, '7')}`, drafts };
}

const send = async ({ rig, to }: Started, valueWei: bigint) => {
  const origin = { ...noOrigin, apiKeyId: 'shop' };
  return (await sendTransaction(rig.deps, rig.relayer, wanted({ to, valueWei }), { origin })).transaction.id;
};

/** A decision about the transaction as it is. */
const by = async (rig: Pick<EvmRig, 'view'>, id: string, apiKeyId: string) => {
  return { apiKeyId, expectedRevision: BigInt((await rig.view(id)).transaction.revision), isUsable: () => true };
};
const approve = async (started: Started, id: string, key: string) =>
  approveTransaction(started.rig.deps, started.rig.relayer, id, await by(started.rig, id, key));
const paid = async ({ to }: Started, anvil: Anvil) => BigInt((await anvil.rpc('eth_getBalance', [to, 'latest'])) as string);
const needs = (count: number) => `waiting: ${count} of 2 approvals that the rule large asks for; will send when all are given`;

function setRules({ rig }: Started, changed: readonly EvmRule[]): void {
  const { relayer, directory, chain } = rig;
  const policies: RelayerPolicies = { ...onNetwork('evm', relayer.policies), rules: changed };
  directory.put({ relayer: { ...relayer, policies }, chain, signer: directory.signerOf(relayer) });
}

describe('approvals in a lane', () => {
  let anvil: Anvil;
  before(async () => {
    anvil = await startAnvil();
  });
  after(() => anvil.stop());

  it('what waits for them is neither drafted nor signed, has no nonce and delays nothing', async (test) => {
    const started = await start(test, anvil);
    const { rig, drafts } = started;
    const large = await send(started, 1_000n);
    const small = await send(started, 5n);
    assert.equal((await rig.until(small, 'confirmed')).transaction.nonce, 0n);
    assert.deepEqual((await approve(started, large, 'boss')).transaction.statusReason, needs(1));
    await rig.until(await send(started, 6n), 'confirmed');
    const { transaction } = await rig.view(large);
    assert.deepEqual(
      [transaction.status, transaction.nonce, transaction.liveVersion, transaction.statusReason],
      ['pending', null, null, needs(1)],
    );
    assert.deepEqual([...new Set(drafts)], [5n, 6n]);
    assert.equal(await paid(started, anvil), 11n);
    await approve(started, large, 'bootstrap');
    assert.equal((await rig.until(large, 'confirmed')).transaction.nonce, 2n);
    assert.equal(await paid(started, anvil), 1_011n);
    assert.deepEqual(
      rig.told.get(large)?.filter((status) => status === 'confirmed'),
      ['confirmed'],
    );
  });

  it('approvals outlast a restart between them, and no restart signs without all', async (test) => {
    const folder = await temporaryFolder();
    const privateKey = Buffer.from('59'.repeat(32), 'hex');
    const begin = async () => {
      const rig = await startEvmRig(anvil, { folder, privateKey, policies: { rules } });
      return { rig, to: `0x${'6'.repeat(40)}`, drafts: [] };
    };
    let started = await begin();
    test.after(() => started.rig.stop());
    const id = await send(started, 700n);
    for (const key of ['boss', 'bootstrap']) {
      await started.rig.stop();
      started = await begin();
      // Once this is sent, the lane has looked at all that waits.
      await started.rig.until(await send(started, 1n), 'confirmed');
      assert.equal((await started.rig.view(id)).transaction.liveVersion, null);
      await approve(started, id, key);
    }
    await started.rig.until(id, 'confirmed');
    assert.equal(await paid(started, anvil), 702n);
  });

  it('the need that was decided at acceptance stays, and rules that were narrowed since count', async (test) => {
    const started = await start(test, anvil);
    const { rig, drafts } = started;
    const [eased, narrowed] = [await send(started, 100n), await send(started, 200n)];
    setRules(started, [rule]);
    await rig.until(await send(started, 5n), 'confirmed');
    assert.equal((await rig.view(eased)).transaction.statusReason, needs(0));
    for (const key of ['boss', 'bootstrap']) await approve(started, eased, key);
    await rig.until(eased, 'confirmed');
    setRules(started, [{ ...rule, id: 'small', maxValueWei: 9n }]);
    for (const key of ['boss', 'bootstrap']) await approve(started, narrowed, key);
    const { transaction } = await rig.until(narrowed, 'failed');
    assert.deepEqual([transaction.failureReason, transaction.nonce], ['not_allowed', null]);
    assert.match(transaction.statusReason ?? '', /^value is allowed by no rule of the relayer/);
    assert.equal(await paid(started, anvil), 105n);
    assert.ok(drafts.includes(200n));
  });

  it('what has fewer approvals than the rules of now ask for is not signed', async (test) => {
    const started = await start(test, anvil);
    const { rig } = started;
    const id = await send(started, 400n);
    const [, large] = rules;
    const stricter = { ...(large ?? assert.fail()), approvals: 3 };
    setRules(started, [stricter]);
    for (const key of ['boss', 'bootstrap']) await approve(started, id, key);
    const { transaction } = await rig.until(id, 'failed');
    assert.deepEqual([transaction.failureReason, transaction.nonce, transaction.liveVersion], ['not_allowed', null, null]);
    assert.equal(transaction.statusReason, 'the rule large asks for 3 approvals now, and it has 2; send it again');
    // A rule for other keys asks for no more.
    setRules(started, [...rules]);
    const next = await send(started, 401n);
    setRules(started, [{ ...stricter, id: 'others', apiKeyIds: ['others'] }, ...rules]);
    for (const key of ['boss', 'bootstrap']) await approve(started, next, key);
    await rig.until(next, 'confirmed');
  });

  it('what was not approved in time expires by two clocks, without a node', async (test) => {
    const own = await startAnvil();
    test.after(() => own.stop());
    const started = await start(test, own);
    const { rig, drafts } = started;
    const id = await send(started, 300n);
    await approve(started, id, 'boss');
    await own.stop();
    await waitFor('the engine to know', () => (rig.engine.networks()[0]?.problem == null ? undefined : true));
    rig.setDatabaseBehind(2 * minuteMs);
    rig.clock.moveOn(minuteMs);
    await untilReason(
      rig,
      id,
      'waiting: the time for approvals has passed; ends when two of the clocks of the service, the database and the network show it',
    );
    await assert.rejects(approve(started, id, 'bootstrap'), /had to be approved by/);
    rig.setDatabaseBehind(0);
    const { transaction } = await rig.until(id, 'expired');
    assert.equal(transaction.statusReason, 'not approved in time: it has 1 of 2 approvals');
    assert.deepEqual(drafts, []);
  });
});

const part: PartRule = {
  ...{
    id: 'any',
    effect: 'allow',
    kinds: null,
    calls: null,
    to: null,
    assets: null,
    maxAmount: null,
    maxCost: null,
    apiKeyIds: null,
    limits: [],
  },
  ...{ approvals: null, approvalMs: null },
};
const partRules: readonly PartRule[] = [
  { ...part, id: 'small', maxAmount: 5_000_000n },
  { ...part, id: 'large', effect: 'approve', approvals: 2, approvalMs: minuteMs },
];

/** Starts a network whose transactions have parts, and returns what pays an amount there. */
const networks: Readonly<Record<string, () => Promise<{ readonly rig: EngineRig; pay(amount: bigint): Promise<TransactionView> }>>> = {
  async Stellar() {
    const receiver = stellarKey().address;
    const folder = await temporaryFolder();
    const rig = await startStellarRig({ folder, accounts: { [receiver]: 100_000_000n }, policies: { rules: partRules } });
    return { rig, pay: (amount) => rig.send({ operations: [payment(receiver, amount)] }) };
  },
  async Solana() {
    const rig = await startSolanaRig({ folder: await temporaryFolder(), policies: { rules: partRules } });
    const receiver = solanaKey().address;
    return { rig, pay: (amount) => rig.send({ instructions: [transferInstruction(rig.key.address, receiver, amount)] }) };
  },
};

describe('approvals on networks whose transactions have parts', () => {
  for (const [name, startNetwork] of Object.entries(networks)) {
    it(`what waits for them is not signed, and delays nothing: ${name}`, async (test) => {
      const { rig, pay } = await startNetwork();
      test.after(() => rig.stop());
      const { id } = (await pay(9_000_000n)).transaction;
      await rig.untilWithBlocks((await pay(5_000_000n)).transaction.id, 'confirmed');
      assert.deepEqual([(await rig.view(id)).transaction.statusReason, (await rig.attempts(id)).length], [needs(0), 0]);
      for (const key of ['boss', 'bootstrap']) await approveTransaction(rig.deps, rig.relayer, id, await by(rig, id, key));
      await rig.untilWithBlocks(id, 'confirmed');
    });
  }
});

/** The decisions that race about a transaction that one key has approved, of two. */
const decisions = ['approve', 'reject', 'replace', 'cancel', 'expire'] as const;
type Decision = (typeof decisions)[number];

/** What becomes of it if the first decision comes before the second: its status, and how many have approved its content. */
const outcomes: Readonly<Record<Decision, Readonly<Record<Decision, string>>>> = {
  approve: { approve: 'confirmed 2', reject: 'confirmed 2', replace: 'pending 0', cancel: 'canceled 2', expire: 'confirmed 2' },
  reject: { approve: 'canceled 1', reject: 'canceled 1', replace: 'canceled 1', cancel: 'canceled 1', expire: 'canceled 1' },
  replace: { approve: 'pending 1', reject: 'canceled 0', replace: 'pending 0', cancel: 'canceled 0', expire: 'expired 0' },
  cancel: { approve: 'canceled 1', reject: 'canceled 1', replace: 'canceled 1', cancel: 'canceled 1', expire: 'canceled 1' },
  expire: { approve: 'expired 1', reject: 'expired 1', replace: 'expired 1', cancel: 'expired 1', expire: 'expired 1' },
};

describe('races of decisions about an approval', () => {
  let anvil: Anvil;
  let postgres: TestPostgres;
  before(async () => {
    [anvil, postgres] = await Promise.all([startAnvil(), startPostgres()]);
  });
  after(() => Promise.all([anvil.stop(), postgres.stop()]));

  /** Use cases of an instance that does not have the lease. */
  function elsewhere({ rig }: Started): TransactionDeps & EvmRig['deps'] {
    const work = { ...rig.deps, recordRelayerState: () => [], timers: systemTimers, log: silentLog, clock: rig.clock };
    const remote = createRemoteLane(laneOf(rig.relayer), work, () => rig.relayer);
    const lanes = {
      ...rig.deps.lanes,
      whyUnsigned: () => remote.whyUnsigned(),
      move: ((seen, decide) => remote.move(seen.id, decide)) as typeof rig.deps.lanes.move,
    };
    return { ...rig.deps, lanes };
  }

  /** Decides about what was read last, which may have changed. */
  async function ofWhatIsRead(
    rig: EvmRig,
    id: string,
    decide: (seen: Awaited<ReturnType<typeof by>>) => Promise<TransactionView>,
  ): Promise<TransactionView> {
    for (;;) {
      try {
        return await decide(await by(rig, id, 'bootstrap'));
      } catch (error) {
        if (!(error instanceof DomainError && error.reason === 'REVISION_MISMATCH')) throw error;
      }
    }
  }

  async function decide(started: Started, id: string, decision: Decision, deps: EvmRig['deps']): Promise<unknown> {
    const { rig, to } = started;
    const { relayer } = rig;
    switch (decision) {
      case 'approve':
        return ofWhatIsRead(rig, id, (seen) => approveTransaction(deps, relayer, id, seen));
      case 'reject':
        return ofWhatIsRead(rig, id, (seen) => rejectTransaction(deps, relayer, id, seen));
      case 'replace':
        return replaceTransaction(deps, relayer, id, wanted({ to, valueWei: 2_000n }), { asker: { apiKeyId: 'shop' } });
      case 'cancel':
        return cancelTransaction(deps, relayer, id);
      case 'expire': {
        rig.clock.moveOn(minuteMs);
        // The engine ends it, unless another decision has.
        return waitFor('the end of its time', async () => {
          const { status, approval } = (await rig.view(id)).transaction;
          return status !== 'pending' || approval === null || approval.given.length >= 2 || approval.expiresAtMs > rig.clock.nowMs()
            ? true
            : undefined;
        });
      }
    }
  }

  const shownOf = ({ transaction: { status, approval } }: TransactionView) => `${status} ${approval?.given.length}`;

  /** Nothing is signed before both are decided. Returns what becomes of the transaction. */
  async function race(started: Started, one: Decision, other: Decision, isTogether: boolean): Promise<string> {
    const { rig } = started;
    const paidBefore = await paid(started, anvil);
    rig.setHold('a test');
    const id = await send(started, 1_000n);
    await approve(started, id, 'boss');
    const both = [() => decide(started, id, one, rig.deps), () => decide(started, id, other, elsewhere(started))] as const;
    if (isTogether) await Promise.allSettled(both.map((begin) => begin()));
    else for (const begin of both) await begin().catch(() => undefined);
    rig.setHold(null);
    rig.engine.storeReturned();
    // Once this is confirmed, the lane has seen all of it.
    const next = await send(started, 1n);
    await rig.until(next, 'confirmed');
    const decided = await rig.view(id);
    if (decided.transaction.approval?.given.length === 2 && decided.transaction.status !== 'canceled') await rig.until(id, 'confirmed');
    const shown = shownOf(await rig.view(id));
    const amount = shown.startsWith('confirmed') ? 1_001n : 1n;
    assert.equal((await paid(started, anvil)) - paidBefore, amount, `${one}, ${other}: ${shown}`);
    if (shown.startsWith('pending')) await cancelTransaction(rig.deps, rig.relayer, id);
    return shown;
  }

  for (const database of ['SQLite', 'PostgreSQL']) {
    it(`each pair in each order, and at once at two instances, has one outcome: ${database}`, async (test) => {
      const store = database === 'SQLite' ? {} : { store: (await openStore(await postgres.newDatabase(), { log: silentLog })).store };
      const started = await start(test, anvil, store);
      for (const one of decisions) {
        for (const other of decisions) {
          assert.equal(await race(started, one, other, false), outcomes[one][other], `${one}, then ${other}`);
          const found = await race(started, one, other, true);
          assert.ok([outcomes[one][other], outcomes[other][one]].includes(found), `${one} and ${other} at once: ${found}`);
        }
      }
    });
  }
});

describe('the room for transactions that wait for approvals', () => {
  let anvil: Anvil;
  before(async () => {
    anvil = await startAnvil();
  });
  after(() => anvil.stop());

  const toApprove = { toSign: 0, toApprove: 1 };
  const isFull = { kind: 'rate_limited', reason: 'TOO_MANY_TRANSACTIONS', message: /1000 transactions that wait for approvals/ };

  /** Stores as many transactions that wait for approvals as fit, of which the lane may know. The account has nothing, so all wait. */
  async function startFull(test: TestContext, options: { readonly isLaneTold: boolean }) {
    const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), policies: { rules }, fundsWei: 0n });
    test.after(() => rig.stop());
    const started: Started = { rig, to: `0x${'7a'.repeat(20)}`, drafts: [] };
    const id = await send(started, 1_000n);
    const { transaction } = await rig.view(id);
    const others = Array.from({ length: 999 }, (_, number) => ({ ...transaction, id: `${id}-${number}` }));
    await rig.deps.store.commit(others.map((one) => rig.deps.store.change.insertTransaction(one, [])));
    if (options.isLaneTold) for (const one of others) rig.engine.accept(one);
    return { started, id };
  }

  it('is of its own: 1,000 of an account may wait, and others are accepted beside them', async (test) => {
    const { started, id } = await startFull(test, { isLaneTold: true });
    const { rig, to } = started;
    await assert.rejects(send(started, 1_000n), isFull);
    const small = await send(started, 5n);
    const replace = (one: string, valueWei: bigint) =>
      replaceTransaction(rig.deps, rig.relayer, one, wanted({ to, valueWei }), { asker: { apiKeyId: 'shop' } });
    await assert.rejects(replace(small, 1_000n), isFull, 'content that needs approvals takes their room');
    await replace(id, 1_001n);
    await assert.rejects(send(started, 1_000n), isFull, 'it has kept its room');
    await replace(id, 6n);
    const next = await send(started, 1_000n);
    await assert.rejects(send(started, 1_000n), isFull);
    await rejectTransaction(rig.deps, rig.relayer, next, await by(rig, next, 'alice'));
    await approve(started, await send(started, 1_000n), 'alice');
    await assert.rejects(send(started, 1_000n), isFull, 'it waits for a second approval');
  });

  it('is the same at an instance that does not run the lane', async (test) => {
    const { rig } = (await startFull(test, { isLaneTold: false })).started;
    const work = { ...rig.deps, recordRelayerState: () => [], timers: systemTimers, log: silentLog, clock: rig.clock };
    const remote = createRemoteLane(laneOf(rig.relayer), work, () => rig.relayer);
    const refusal = await waitFor('the count of what waits', async () => {
      try {
        remote.takeRoom(toApprove)();
        return undefined;
      } catch (error) {
        return error;
      }
    });
    assert.ok(refusal instanceof DomainError && isFull.message.test(refusal.message), String(refusal));
    remote.takeRoom({ toSign: 10_000, toApprove: 0 })();
    assert.throws(() => remote.takeRoom({ toSign: 10_001, toApprove: 0 }), /10000 transactions that wait to be signed/);
  });
});
