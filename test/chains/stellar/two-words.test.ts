import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Operation, xdr } from '@stellar/stellar-sdk';
import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import type { Draft, Refusal } from '../../../src/core/ports/chain/drafts.js';
import type { StellarOperation } from '../../../src/core/records/stellar.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { startStellar } from '../../../src/sandbox/stellar/server.js';
import { attemptOf } from '../../support/evm.js';
import { relayed, startFakeNode } from '../../support/fake-node.js';
import { payment, stellarKey, stellarNetwork, stellarRelayer, stellarRequest } from '../../support/stellar.js';
import { createWallet, walletOf } from '../../support/stellar-wallet.js';
import { change } from '../../support/stellar-xdr.js';
import { silentLog } from '../../support/stored-samples.js';

/** Changes the result of an honest node. */
type Lie = (method: string, result: Result) => void;

interface Result {
  transactionData: string;
  minResourceFee: string;
  readonly results: readonly { auth: readonly string[] }[];
  entries: readonly { readonly xdr: string }[] | null;
}

const places = ['the heavier of two', 'the lighter of two', 'the heaviest of three'] as const;
type Place = (typeof places)[number];

/** A ledger, and a chain on nodes that relay it, of which the one at `place` lies. */
async function startWithLiar(test: TestContext, place: Place, lie: Lie | 'down') {
  const node = await startStellar();
  test.after(() => node.stop());
  const key = stellarKey();
  node.ledger.fund(key.address, 1_000_000_000n);
  node.ledger.close();
  const count = place === 'the heaviest of three' ? 3 : 2;
  const liar = place === 'the lighter of two' ? 1 : 0;
  const nodes = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      startFakeNode(test, async (request) => {
        if (index === liar && lie === 'down') return 'hang up';
        const { body } = await relayed(node.url, request).catch(gone);
        if (index !== liar || lie === 'down' || body === '') return { body };
        const parsed = JSON.parse(body);
        for (const [at, answer] of [parsed].flat().entries()) if (answer.result) lie(request.calls[at]?.method ?? '', answer.result);
        return { body: JSON.stringify(parsed) };
      }),
    ),
  );
  let passedMs = 0;
  const clock = { nowMs: systemClock.nowMs, elapsedMs: () => systemClock.elapsedMs() + passedMs };
  const chain = createStellarChain({
    network: stellarNetwork(),
    rpcUrls: nodes.map(({ url }, index) => ({ url, weight: 100 - index })),
    rpcTimeoutMs: 10_000,
    log: silentLog,
    clock,
  });
  test.after(() => chain.close());
  const relayer = stellarRelayer(key.address);

  async function draft(operation: StellarOperation): Promise<Draft | Refusal> {
    const request = stellarRequest({ operations: [operation] });
    const { content } = chain.contentOf(request, { relayer, nowMs: Date.now(), earlier: null });
    await chain.head();
    const nextNonce = walletOf(node.ledger, key.keys).sequence() + 1n;
    return chain.draft({ relayer, content, outbids: [], validUntilMs: null, nextNonce });
  }

  /** True if the ledger runs it. */
  async function succeeds(drafted: Draft): Promise<boolean> {
    const { raw, hash } = await chain.sign(drafted, walletOf(node.ledger, key.keys).sequence() + 1n, key.signer);
    node.ledger.submit(raw);
    node.ledger.close();
    const { found } = await chain.sequence.receipts([hash], { from: 0n, to: 0n });
    return found.get(hash)?.succeeded === true;
  }

  /** Drafts a fee bump of a payment that has waited in the pool. */
  async function bump(drafted: Draft, operation: StellarOperation): Promise<Draft | Refusal> {
    const sequence = walletOf(node.ledger, key.keys).sequence() + 1n;
    const live = attemptOf(key.address, sequence, await chain.sign(drafted, sequence, key.signer));
    const request = stellarRequest({ operations: [operation] });
    const { content } = chain.contentOf(request, { relayer, nowMs: Date.now(), earlier: null });
    return chain.sequence.bumpFee({ relayer, content, live, outbids: [live], reason: 'waited' });
  }

  const pass = (ms: number) => {
    passedMs += ms;
  };
  const asked = (method: string) => nodes.flatMap(({ methods }) => methods.filter((one) => one === method)).length;
  return { node, key, chain, draft, bump, succeeds, pass, asked };
}

/** The ledger ended with the test. */
const gone = () => ({ body: '' });

/** Changes what a simulation declares. */
function declaring(alter: (data: xdr.SorobanTransactionData) => void): Lie {
  return (method, result) => {
    if (method !== 'simulateTransaction') return;
    const data = xdr.SorobanTransactionData.fromXdr(result.transactionData, 'base64');
    alter(data);
    result.transactionData = data.toXdr('base64');
  };
}

/** The key of other data of the same contract. */
function elsewhere(key: xdr.LedgerKey, name: string): xdr.LedgerKey {
  if (key.type !== 'contractData') return key;
  const { contract, durability } = key.contractData;
  return xdr.LedgerKey.contractData(new xdr.LedgerKeyContractData({ contract, key: xdr.ScVal.scvSymbol(name), durability }));
}

const text = (value: unknown) => JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part));
const isWaiting = (made: Draft | Refusal, reason: RegExp) => 'refused' in made && !made.lasting && reason.test(made.sentence);

describe('what one node alone says about a contract call', { concurrency: 4 }, () => {
  const call = (contract: string, caller: string, writes = false): StellarOperation => ({
    kind: 'invoke_contract',
    contractAddress: contract,
    functionName: writes ? 'increment' : 'greet',
    args: writes ? [{ kind: 'u32', value: 1 }] : [{ kind: 'address', value: caller }],
    auth: undefined,
  });
  const isApart = true;
  const writes = true;
  const lies: Readonly<Record<string, readonly [lie: Lie, isApart?: boolean, writes?: boolean]>> = {
    'too few instructions': [declaring(({ resources }) => change(resources, { instructions: 1 }))],
    'no bytes to write': [declaring(({ resources }) => change(resources, { writeBytes: 0, diskReadBytes: 0 }))],
    'a low resource fee': [
      (method, result) => {
        if (method !== 'simulateTransaction') return;
        declaring((data) => change(data, { resourceFee: 1n }))(method, result);
        result.minResourceFee = '1';
      },
    ],
    'twice the bytes for less': [declaring(({ resources }) => change(resources, { writeBytes: resources.writeBytes * 2 }))],
    'an empty footprint': [
      declaring(({ resources }) => change(resources, { footprint: new xdr.LedgerFootprint({ readOnly: [], readWrite: [] }) })),
      isApart,
    ],
    'a larger footprint of entries that are not there': [
      declaring(({ resources }) => {
        const { readOnly, readWrite } = resources.footprint;
        const others = [...readOnly, ...readWrite].flatMap((key) => [elsewhere(key, 'a'), elsewhere(key, 'b')]);
        change(resources, { footprint: new xdr.LedgerFootprint({ readOnly: [], readWrite: others }) });
      }),
      isApart,
      writes,
    ],
    'what it writes as only read': [
      declaring(({ resources }) => {
        const { readOnly, readWrite } = resources.footprint;
        change(resources, { footprint: new xdr.LedgerFootprint({ readOnly: [...readOnly, ...readWrite], readWrite: [] }) });
      }),
      isApart,
      writes,
    ],
    'no authorization': [
      (method, result) => {
        if (method === 'simulateTransaction') for (const one of result.results) one.auth = [];
      },
      isApart,
    ],
  };
  for (const [what, [lie, apart, isWriting]] of Object.entries(lies)) {
    for (const place of places) {
      it(`contract call: ${what}, as ${place} says, does not make it fail on the ledger`, async (test) => {
        const rig = await startWithLiar(test, place, lie);
        const wanted = call(rig.node.ledger.testContract, rig.key.address, isWriting);
        let made = await rig.draft(wanted);
        assert.ok(rig.asked('simulateTransaction') <= (place === 'the heaviest of three' ? 3 : 2));
        if (apart === true && place !== 'the heaviest of three') {
          assert.ok(isWaiting(made, /^RPC endpoints differ in the footprint or the authorization/), text(made));
          rig.pass(30_000);
          assert.ok('refused' in (await rig.draft(wanted)));
          rig.pass(31_000);
          made = await rig.draft(wanted);
        }
        assert.ok(!('refused' in made), text(made));
        assert.ok(await rig.succeeds(made));
      });
    }
  }

  it('contract call: a second endpoint that is down is not waited for', async (test) => {
    const rig = await startWithLiar(test, 'the lighter of two', 'down');
    assert.ok(!('refused' in (await rig.draft(call(rig.node.ledger.testContract, rig.key.address)))));
  });
});

describe('the market of fees', { concurrency: 4 }, () => {
  for (const place of places) {
    it(`market: a high one that only ${place} shows raises a bid that has waited, but of three none does so alone`, async (test) => {
      const rig = await startWithLiar(test, place, (method, result) => {
        if (method === 'getFeeStats') Object.assign(result, { inclusionFee: { p90: '5000' }, sorobanInclusionFee: { p90: '5000' } });
      });
      const operation = payment(rig.key.address, 5n);
      const made = await rig.draft(operation);
      assert.ok(!('refused' in made) && made.network === 'stellar', text(made));
      assert.equal(made.bid.feeStroops, 100n);
      const bumped = await rig.bump(made, operation);
      if (place === 'the heaviest of three') assert.ok('refused' in bumped && /meets the market/.test(bumped.sentence), text(bumped));
      else assert.ok(!('refused' in bumped) && bumped.network === 'stellar' && bumped.bid.feeStroops === 10_000n, text(bumped));
    });
  }
});

describe('a memo that a receiver requires', { concurrency: 4 }, () => {
  const required = async (rig: Awaited<ReturnType<typeof startWithLiar>>) => {
    const exchange = createWallet(rig.node.ledger);
    rig.node.ledger.submit(exchange.build([Operation.manageData({ name: 'config.memo_required', value: '1' })]).toXdr());
    rig.node.ledger.close();
    return payment(exchange.address, 5n);
  };
  for (const place of places) {
    it(`memo: a payment without one waits if ${place} hides that it is required`, async (test) => {
      const rig = await startWithLiar(test, place, (method, result) => {
        if (method !== 'getLedgerEntries') return;
        result.entries = (result.entries ?? []).filter((entry) => xdr.LedgerEntryData.fromXdr(entry.xdr, 'base64').type !== 'data');
      });
      const made = await rig.draft(await required(rig));
      if (place !== 'the heaviest of three') assert.ok(isWaiting(made, /requires a memo .* one RPC endpoint shows/), text(made));
      else assert.ok('refused' in made && made.lasting && made.refused === 'not_allowed', text(made));
    });
  }

  it('memo: is refused at once if both endpoints show that it is required', async (test) => {
    const rig = await startWithLiar(test, 'the heavier of two', () => undefined);
    const made = await rig.draft(await required(rig));
    assert.ok('refused' in made && made.lasting && made.refused === 'not_allowed', text(made));
  });
});
