import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { xdr } from '@stellar/stellar-sdk';
import type { TransactionStatus } from '../../src/core/records/transaction.js';
import { type StellarRig, startStellarRig } from '../support/engine-rig.js';
import type { RpcAnswer } from '../support/rpc-proxy.js';
import { payment, stellarKey } from '../support/stellar.js';
import { change } from '../support/stellar-xdr.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const receiver = stellarKey().address;

/** Changes the result of an honest node. */
type Lie = (method: string, result: { entries?: { xdr: string }[]; headerXdr?: string }) => void;

/** Changes the account that a node shows. */
function showing(alter: (account: xdr.AccountEntry) => void): Lie {
  return (method, result) => {
    if (method !== 'getLedgerEntries') return;
    for (const entry of result.entries ?? []) {
      const data = xdr.LedgerEntryData.fromXdr(entry.xdr, 'base64');
      if (data.type !== 'account') continue;
      alter(data.account);
      entry.xdr = data.toXdr('base64');
    }
  };
}

const lies = {
  'a number that is too low': showing((account) => change(account, { seqNum: account.seqNum - 3n })),
  'a number that is too high': showing((account) => change(account, { seqNum: account.seqNum + 5n })),
  'a number that is far too high': showing((account) => change(account, { seqNum: account.seqNum + 1_000_000n })),
  'an empty balance': showing((account) => change(account, { balance: 1n })),
  'thresholds that the key does not reach': showing((account) =>
    change(account, { thresholds: xdr.Thresholds.fromXdr(Buffer.from([1, 0, 5, 5])) }),
  ),
  'a key without weight': showing((account) => change(account, { thresholds: xdr.Thresholds.fromXdr(Buffer.from([0, 5, 5, 5])) })),
  'many entries that need a reserve': showing((account) => change(account, { numSubEntries: 100_000 })),
  'no account': (method, result) => {
    if (method === 'getLedgerEntries') result.entries = [];
  },
  'a high reserve per entry': (method, result) => {
    if (method !== 'getLatestLedger' || result.headerXdr === undefined) return;
    const header = xdr.LedgerHeader.fromXdr(result.headerXdr, 'base64');
    change(header, { baseReserve: 4_000_000_000 });
    result.headerXdr = header.toXdr('base64');
  },
} satisfies Readonly<Record<string, Lie>>;

const places = {
  'the heaviest of three': { nodeCount: 3, liar: 0 },
  'the second of three': { nodeCount: 3, liar: 1 },
  'the heavier of two': { nodeCount: 2, liar: 0 },
  'the lighter of two': { nodeCount: 2, liar: 1 },
} as const;

/** What nodes do beside the lie. */
interface Behaviour {
  readonly areOthersDown?: boolean;
  /** The liar answers that it takes each envelope. */
  readonly takesAll?: boolean;
  readonly isSilent?: () => boolean;
}

async function start(
  test: TestContext,
  place: (typeof places)[keyof typeof places],
  lie: Lie,
  { areOthersDown = false, takesAll = false, isSilent = () => false }: Behaviour = {},
) {
  let isLying = true;
  let isAlone = areOthersDown;
  const asked: string[] = [];
  const rig = await startStellarRig({
    folder: await temporaryFolder(),
    accounts: { [receiver]: 10_000_000n },
    hasOneClock: true,
    nodeCount: place.nodeCount,
    async answerOf(index, call, ask): Promise<RpcAnswer> {
      if (isSilent() || (isAlone && index !== place.liar)) return null;
      const answer = await ask(call);
      asked.push(call.method);
      if (index === place.liar && isLying && answer !== null && 'result' in answer) {
        lie(call.method, answer.result as Parameters<Lie>[1]);
        if (takesAll && call.method === 'sendTransaction')
          Object.assign(answer.result as object, { status: 'PENDING', errorResultXdr: undefined });
      }
      return answer;
    },
  });
  test.after(() => rig.stop());
  const endLie = () => {
    isLying = false;
  };
  const endOutage = () => {
    isAlone = false;
  };
  return { rig, asked, endLie, endOutage };
}

/** Closes a ledger, by default with the time between those of a public network. */
async function close({ clock, node, engine }: StellarRig, seconds = 5): Promise<void> {
  clock.moveOn(seconds * 1_000);
  node.ledger.pass(seconds);
  node.ledger.close();
  const { sequence } = node.ledger.latest();
  await waitFor('the engine to see the ledger', () => ((engine.networks()[0]?.head?.number ?? 0n) >= BigInt(sequence) ? true : undefined));
}

/** On a slow machine, ledgers close faster than the lane looks at them. */
const mostLedgers = 1_000;

/** Closes ledgers until the transaction has one of these statuses. */
async function untilEnded(
  rig: StellarRig,
  id: string,
  wanted: TransactionStatus | readonly TransactionStatus[] = 'confirmed',
  seconds = 5,
): Promise<void> {
  for (let ledgers = 1; ; ledgers += 1) {
    await close(rig, seconds);
    const { status, statusReason } = (await rig.view(id)).transaction;
    if ([wanted].flat().includes(status)) return;
    assert.ok(ledgers < mostLedgers, `it is ${status} after ${ledgers} ledgers: ${statusReason}`);
  }
}

/**
 * Of two endpoints that differ about the number, the lower counts after a minute of ledgers, until nodes have refused it for a minute. On a
 * slow machine that passes before the lane has found the transaction that used the higher, so the first payment can get a number that is used.
 */
const isDecided = ({ nodeCount, liar }: (typeof places)[keyof typeof places]): boolean => nodeCount > 2 || liar > 0;

describe('an account of which one endpoint lies', { concurrency: 4 }, () => {
  for (const [where, place] of Object.entries(places)) {
    for (const [what, lie] of Object.entries(lies)) {
      if (what === 'a number that is too low' && !isDecided(place)) continue;
      it(`account: ${where} shows ${what}, and payments are confirmed`, async (test) => {
        const { rig } = await start(test, place, lie);
        for (const stroops of [1n, 2n]) {
          const { transaction } = await rig.send({ operations: [payment(receiver, stroops)] });
          await untilEnded(rig, transaction.id);
        }
        assert.equal(rig.node.ledger.latest().state.accounts.get(receiver)?.balanceStroops, 10_000_003n);
        assert.equal(rig.directory.relayer(rig.relayer.id)?.disabledReason, null);
      });
    }
  }

  for (const [where, place] of Object.entries(places)) {
    if (!isDecided(place)) continue;
    it(`account: after ${where} has shown one number after another, payments go on`, async (test) => {
      let offset = -3n;
      const lie = showing((account) => change(account, { seqNum: account.seqNum + offset }));
      const { rig, endLie } = await start(test, place, lie);
      const pay = async (stroops: bigint) => untilEnded(rig, (await rig.send({ operations: [payment(receiver, stroops)] })).transaction.id);
      await pay(1n);
      offset = 4n;
      await pay(2n);
      offset = -1n;
      await pay(3n);
      endLie();
      await pay(4n);
    });
  }

  it('account: what was signed with a low number by the word of the only endpoint in reach delays no other one, and ends', async (test) => {
    const { rig, endOutage } = await start(test, places['the heaviest of three'], lies['a number that is too low'], {
      areOthersDown: true,
    });
    const { id } = (await rig.send({ operations: [payment(receiver, 1n)] })).transaction;
    await untilEnded(rig, id, 'sent');
    endOutage();
    await untilEnded(rig, (await rig.send({ operations: [payment(receiver, 2n)] })).transaction.id);
    await untilEnded(rig, id, 'failed');
    assert.equal((await rig.view(id)).transaction.failureReason, 'unresolvable');
  });

  for (const [where, place] of Object.entries(places)) {
    for (const what of ['a number that is too low', 'a number that is too high', 'a number that is far too high'] as const) {
      for (const takesAll of [false, true]) {
        const how = takesAll ? ' and takes each envelope' : '';
        it(`account: ${where} shows ${what}${how}, no node has the account's last transaction, and payments go on`, async (test) => {
          let isReady = false;
          const { rig } = await start(test, place, lies[what], { takesAll, isSilent: () => !isReady });
          const { accounts } = rig.node.ledger.latest().state;
          const known = accounts.get(rig.key.address);
          assert.ok(known !== undefined);
          accounts.set(rig.key.address, { ...known, sequence: known.sequence + 40n, sequenceLedger: 1 });
          rig.node.ledger.close();
          isReady = true;
          const paid = [];
          for (const stroops of [1n, 2n, 3n]) {
            const { id } = (await rig.send({ operations: [payment(receiver, stroops)] })).transaction;
            await untilEnded(rig, id, ['confirmed', 'failed'], 15);
            const { status, failureReason } = (await rig.view(id)).transaction;
            // Of two, the lower counts until nodes have refused it for a minute: the first payment can get a number that is used.
            assert.ok(
              status === 'confirmed' || (stroops === 1n && place.nodeCount === 2 && failureReason === 'unresolvable'),
              `${failureReason}`,
            );
            if (status === 'confirmed') paid.push(stroops);
          }
          const sum = paid.reduce((total, stroops) => total + stroops, 0n);
          assert.equal(rig.node.ledger.latest().state.accounts.get(receiver)?.balanceStroops, 10_000_000n + sum);
        });
      }
    }
  }

  it('account: while three endpoints agree, five payments ask for it at most twelve times each', async (test) => {
    const { rig, asked } = await start(test, places['the heaviest of three'], () => undefined);
    for (let payments = 1n; payments <= 5n; payments += 1n)
      await untilEnded(rig, (await rig.send({ operations: [payment(receiver, payments)] })).transaction.id);
    const count = asked.filter((method) => method === 'getLedgerEntries').length;
    assert.ok(count <= 60, `${count}`);
  });
});
