import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Asset, Operation, xdr } from '@stellar/stellar-sdk';
import { createStellarChain, type StellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { onNetwork } from '../../../src/core/records/on-network.js';
import type { StellarAttemptFields, StellarRequest } from '../../../src/core/records/stellar.js';
import type { Attempt } from '../../../src/core/records/transaction.js';
import { type DurationClock, systemClock } from '../../../src/core/work/clock.js';
import { type StellarNode, type StellarOptions, startStellar } from '../../../src/sandbox/stellar/server.js';
import { relayed, startFakeNode } from '../../support/fake-node.js';
import { payment, stellarKey, stellarNetwork, stellarRelayer, stellarRequest } from '../../support/stellar.js';
import { createWallet, type Wallet } from '../../support/stellar-wallet.js';
import { hashOf } from '../../support/stellar-xdr.js';
import { silentLog } from '../../support/stored-samples.js';

interface Rig {
  readonly node: StellarNode;
  readonly chain: StellarChain;
  readonly wallet: Wallet;
  readonly other: Wallet;
}

function open(test: TestContext, urls: readonly string[], clock: DurationClock = systemClock): StellarChain {
  const chain = createStellarChain({
    network: stellarNetwork(),
    rpcUrls: urls.map((url, index) => ({ url, weight: 100 - index })),
    rpcTimeoutMs: 2_000,
    log: silentLog,
    clock,
  });
  test.after(() => chain.close());
  return chain;
}

async function start(test: TestContext, options: StellarOptions = {}, clock: DurationClock = systemClock): Promise<Rig> {
  const node = await startStellar(options);
  test.after(() => node.stop());
  const chain = open(test, [node.url], clock);
  return { node, chain, wallet: createWallet(node.ledger), other: createWallet(node.ledger) };
}

const pay = (to: Wallet, amount = '1'): xdr.Operation => Operation.payment({ destination: to.address, asset: Asset.native(), amount });

describe('broadcast: classifies the answer of a node if', { concurrency: 4 }, () => {
  const now = () => Math.floor(Date.now() / 1000);
  const rows: Readonly<Record<string, readonly [raw: (rig: Rig) => string, outcome: object]>> = {
    taken: [({ wallet, other }) => wallet.build([pay(other)]).toXdr(), { kind: 'accepted' }],
    'the node already has the transaction': [
      ({ node, wallet, other }) => {
        const raw = wallet.build([pay(other)]).toXdr();
        node.ledger.submit(raw);
        return raw;
      },
      { kind: 'known' },
    ],
    'another transaction of the account waits': [
      ({ node, wallet, other }) => {
        node.ledger.submit(wallet.build([pay(other)]).toXdr());
        return wallet.build([pay(other, '2')]).toXdr();
      },
      { kind: 'wait', sentence: 'the node answered TRY_AGAIN_LATER', because: 'turn' },
    ],
    'the sequence number is used': [
      ({ wallet, other }) => wallet.build([pay(other)], { sequence: wallet.sequence() }).toXdr(),
      { kind: 'nonce_used' },
    ],
    'its fee is too low': [
      ({ wallet, other }) => wallet.build([pay(other), pay(other)], { feeStroops: 199n }).toXdr(),
      { kind: 'underpriced', sentence: 'the node answered txINSUFFICIENT_FEE: its fee is too low; the node demands a fee of 200 stroops' },
    ],
    'a fee-bump envelope bids too little to replace': [
      ({ node, wallet, other }) => {
        const first = wallet.build([pay(other)]);
        node.ledger.submit(first.toXdr());
        return other.bump(first, 1_999n).toXdr();
      },
      { kind: 'underpriced', sentence: 'the node answered txINSUFFICIENT_FEE: its fee is too low; the node demands a fee of 2000 stroops' },
    ],
    'its time bounds have passed': [
      ({ wallet, other }) => wallet.build([pay(other)], { maxTimeSeconds: now() - 60 }).toXdr(),
      { kind: 'wait', sentence: 'the node answered txTOO_LATE: its time bounds have passed', because: 'content' },
    ],
    'its time bounds have not begun': [
      ({ wallet, other }) => wallet.build([pay(other)], { minTimeSeconds: now() + 600 }).toXdr(),
      { kind: 'wait', sentence: 'the node answered txTOO_EARLY: its time bounds have not begun' },
    ],
    'another key signed it': [
      ({ wallet, other }) => wallet.build([pay(other)], { signers: [other.keys] }).toXdr(),
      { kind: 'wait', sentence: 'the node answered txBAD_AUTH: its signatures are not sufficient', because: 'invalid' },
    ],
    'the inner transaction of a fee-bump envelope has a used sequence number': [
      ({ wallet, other }) => other.bump(wallet.build([pay(other)], { sequence: wallet.sequence() }), 200n).toXdr(),
      { kind: 'nonce_used' },
    ],
    'its account does not exist': [
      ({ node, other }) =>
        createWallet(node.ledger, 0n)
          .build([pay(other)])
          .toXdr(),
      { kind: 'wait', sentence: 'the node answered txNO_ACCOUNT: its source account does not exist' },
    ],
  };
  for (const [what, [raw, outcome]] of Object.entries(rows)) {
    it(what, async (test) => {
      const rig = await start(test);
      assert.deepEqual(await rig.chain.broadcastAll([raw(rig)]), [outcome]);
    });
  }
});

describe('broadcast: the result codes of a later protocol', { concurrency: 4 }, () => {
  /** TransactionResult with this code and nothing else. */
  const resultOf = (code: number): string => {
    const bytes = Buffer.alloc(16);
    bytes.writeInt32BE(code, 8);
    return bytes.toString('base64');
  };
  const unreadable = 'the node answered ERROR with a result of an unknown kind';
  const frozen = 'the node answered txFROZEN_KEY_ACCESSED: it uses a ledger entry that the network has frozen';
  const rows: readonly (readonly [name: string, code: number, outcome: object])[] = [
    ['an entry that the network has frozen is hopeless', -18, { kind: 'wait', sentence: frozen, because: 'invalid' }],
    [
      'a code that nobody knows is a refusal, and the node stays in use',
      -30,
      { kind: 'unknown', sentence: unreadable, because: 'words_of_all' },
    ],
  ];
  for (const [name, code, outcome] of rows) {
    it(name, async (test) => {
      const { node, wallet, other } = await start(test);
      const fake = await startFakeNode(test, (request) => {
        if (!request.calls.some(({ method }) => method === 'sendTransaction')) return relayed(node.url, request);
        return {
          body: JSON.stringify({ jsonrpc: '2.0', id: request.calls[0]?.id, result: { status: 'ERROR', errorResultXdr: resultOf(code) } }),
        };
      });
      const chain = open(test, [fake.url]);
      const raw = wallet.build([pay(other)]).toXdr();
      assert.deepEqual(await chain.broadcastAll([raw]), [outcome]);
      assert.equal(await chain.balanceOf(wallet.address), wallet.balance());
    });
  }
});

describe('findSender', { concurrency: 4 }, () => {
  it('findSender: finds the transaction of the last sequence number and of a recent earlier one', async (test) => {
    const { node, chain, wallet, other } = await start(test);
    const first = wallet.build([pay(other)]);
    node.ledger.submit(first.toXdr());
    node.ledger.close();
    node.ledger.submit(other.build([pay(wallet)]).toXdr());
    node.ledger.close();
    const second = other.bump(wallet.build([pay(other)]), 400n);
    node.ledger.submit(second.toXdr());
    const { sequence } = node.ledger.close();
    node.ledger.close();
    const head = await chain.head();
    const find = (nonce: bigint) => chain.sequence.findSender(wallet.address, nonce, { from: 0n, to: head.number });
    const found = await find(BigInt(second.innerTransaction.sequence));
    assert.ok(typeof found === 'object');
    const { hash, blockNumber, blockHash } = found;
    assert.deepEqual([hash, blockNumber, blockHash], [hashOf(second.innerTransaction), BigInt(sequence), `ledger ${sequence}`]);
    const before = await find(BigInt(first.sequence));
    assert.ok(typeof before === 'object');
    assert.equal(before.hash, hashOf(first));
    assert.equal(await find(BigInt(second.innerTransaction.sequence) + 1n), 'unused');
  });

  it('findSender: reports pruned after the node drops the ledger', async (test) => {
    const { node, chain, wallet, other } = await start(test, { retentionLedgers: 3 });
    const first = wallet.build([pay(other)]);
    node.ledger.submit(first.toXdr());
    for (let count = 0; count < 10; count += 1) node.ledger.close();
    const head = await chain.head();
    assert.equal(await chain.sequence.findSender(wallet.address, BigInt(first.sequence), { from: 0n, to: head.number }), 'pruned');
  });

  it('receipts: have the hash that was asked for, and no fee if the fee-bump envelope of another account landed it', async (test) => {
    const { node, chain, wallet, other } = await start(test);
    const plain = wallet.build([pay(other)]);
    const bump = other.bump(plain, 400n);
    node.ledger.submit(bump.toXdr());
    node.ledger.close();
    const inner = hashOf(plain);
    const { number } = await chain.head();
    const { found } = await chain.sequence.receipts([inner], { from: 0n, to: number });
    assert.deepEqual([found.get(inner)?.hash, found.get(inner)?.facts?.feePaid], [inner, 0n]);
  });

  it('nextAt: knows the next sequence number since the account last used one', async (test) => {
    const { node, chain, wallet, other } = await start(test);
    const first = wallet.build([pay(other)]);
    node.ledger.submit(first.toXdr());
    const used = BigInt(node.ledger.close().sequence);
    node.ledger.close();
    const next = BigInt(first.sequence) + 1n;
    assert.equal(await chain.sequence.nextOf(wallet.address), next);
    assert.deepEqual(await chain.sequence.nextAt(wallet.address, used), { next, endpoint: 0 });
    assert.deepEqual(await chain.sequence.nextAt(wallet.address, used - 1n), { next: 'pruned', endpoint: 0 });
  });
});

describe('outcome of a fee-bump envelope around another account’s transaction', { concurrency: 4 }, () => {
  async function signed({ node, chain, wallet, other }: Rig, maxTimeSeconds: number): Promise<Attempt> {
    const key = stellarKey();
    const relayer = stellarRelayer(key.address);
    const envelope = wallet.build([pay(other)], { maxTimeSeconds }).toXdr();
    const request = stellarRequest({ transactionXdr: envelope, feeBump: true });
    const { content } = chain.contentOf(request, { relayer, nowMs: Date.now(), earlier: null });
    assert.ok(content.network === 'stellar' && content.kind === 'fee_bump');
    const bid = { feeStroops: 200n, resourceFeeStroops: 0n, operationCount: 2 };
    const { sourceAccount, sequence, maxTimeS } = content;
    const inner = { kind: 'signed', envelope: content.envelope } as const;
    const ledger = BigInt(node.ledger.latest().sequence);
    const told = { bid, sourceAccount, sequence, maxTimeS, ledger, costStroops: 200n };
    const draft = { network: 'stellar', inner, bumpFeeStroops: 200n, ...told } as const;
    const version = await chain.sign(draft, null, key.signer);
    return {
      ...version,
      transactionId: 't',
      chain: 'c',
      account: key.address,
      version: 1,
      purpose: 'content',
      nonce: null,
      createdAtMs: Date.now(),
    };
  }
  const submitInner = ({ node }: Rig, { raw }: Attempt) => {
    const envelope = xdr.expectUnionVariant(xdr.TransactionEnvelope.fromXdr(raw, 'base64'), 'envelopeTypeTxFeeBump').feeBump.tx.innerTx.v1;
    node.ledger.submit(xdr.TransactionEnvelope.envelopeTypeTx(envelope).toXdr('base64'));
  };
  const soon = () => Math.floor(Date.now() / 1000) + 60;
  const outcomeOf = async ({ chain }: Pick<Rig, 'chain'>, attempt: Attempt) =>
    (await chain.unsequenced?.outcomes([attempt]))?.get(attempt.hash)?.kind;
  /** What two nodes of the ledger show. */
  async function agreedOutcomeOf(test: TestContext, { node }: Rig, attempt: Attempt) {
    const second = await startStellar({ ledger: node.ledger });
    test.after(() => second.stop());
    const chain = open(test, [node.url, second.url]);
    await chain.head();
    return outcomeOf({ chain }, attempt);
  }

  it('outcome of a fee-bump envelope around another account’s transaction: is not ended by the only node before 8 heads and a minute show the same', async (test) => {
    let passedMs = 0;
    const clock: DurationClock = { nowMs: () => systemClock.nowMs(), elapsedMs: () => systemClock.elapsedMs() + passedMs };
    const rig = await start(test, {}, clock);
    const close = (count: number) => {
      for (let closed = 0; closed < count; closed += 1) rig.node.ledger.close();
    };
    const attempt = await signed(rig, soon());
    rig.node.ledger.pass(120);
    close(1);
    assert.equal(await outcomeOf(rig, attempt), 'open');
    passedMs = 60_000;
    assert.equal(await outcomeOf(rig, attempt), 'open', 'it is the same ledger');
    close(20);
    for (let heads = 1; heads < 8; heads += 1) {
      assert.equal(await outcomeOf(rig, attempt), 'open', `${heads} heads, whatever their heights`);
      close(1);
    }
    assert.equal(await outcomeOf(rig, attempt), 'dead');
    passedMs = 0;
    const another = await signed(rig, soon() + 120);
    rig.node.ledger.pass(120);
    for (let heads = 0; heads < 20; heads += 1) {
      close(1);
      assert.equal(await outcomeOf(rig, another), 'open', 'less than a minute has passed');
    }
  });

  it('outcome of a fee-bump envelope around another account’s transaction: is not ended by one of two nodes while the other one is silent, however long', async (test) => {
    let passedMs = 0;
    const clock: DurationClock = { nowMs: () => systemClock.nowMs(), elapsedMs: () => systemClock.elapsedMs() + passedMs };
    const rig = await start(test);
    const silent = await startFakeNode(test, () => 'hang up');
    const chain = open(test, [rig.node.url, silent.url], clock);
    const attempt = await signed(rig, soon());
    rig.node.ledger.pass(120);
    for (let round = 0; round < 3; round += 1) {
      for (let closed = 0; closed < 10; closed += 1) rig.node.ledger.close();
      passedMs += 600_000;
      assert.equal(await outcomeOf({ chain }, attempt), 'open');
    }
    assert.equal(await agreedOutcomeOf(test, rig, attempt), 'dead');
  });

  it('outcome of a fee-bump envelope around another account’s transaction: is not ended by one of two nodes that answers in place of the other one', async (test) => {
    const rig = await start(test);
    let isPartial = true;
    const partial = await startFakeNode(test, async (request) => {
      const answers = [JSON.parse((await relayed(rig.node.url, request)).body)].flat();
      const error = { code: -32601, message: 'method not found' };
      const refused = ({ method }: { readonly method: string }) => isPartial && method === 'getLedgerEntries';
      const items = answers.map((answer, at) =>
        request.calls.slice(at, at + 1).some(refused) ? { jsonrpc: '2.0', id: answer.id, error } : answer,
      );
      return { body: JSON.stringify(request.isBatch ? items : items[0]) };
    });
    const chain = open(test, [partial.url, rig.node.url]);
    const attempt = await signed(rig, soon());
    rig.node.ledger.pass(120);
    rig.node.ledger.close();
    await chain.head();
    assert.equal(await outcomeOf({ chain }, attempt), 'open');
    isPartial = false;
    assert.equal(await outcomeOf({ chain }, attempt), 'dead');
  });

  /** A node that has all ledgers, one that keeps only the newest, and one that hides each transaction. */
  const roles = {
    whole: (_: TestContext, { node }: Rig) => startStellar({ ledger: node.ledger }),
    async fresh(_: TestContext, { node }: Rig) {
      const fresh = await startStellar({ ledger: node.ledger });
      fresh.setOldest(node.ledger.latest().sequence);
      return fresh;
    },
    async hiding(test: TestContext, { node }: Rig) {
      return startFakeNode(test, async (request) => {
        const answers = [JSON.parse((await relayed(node.url, request)).body)].flat();
        for (const [at, answer] of answers.entries())
          if (request.calls[at]?.method === 'getTransaction' && answer.result?.status !== undefined)
            answer.result = { ...answer.result, status: 'NOT_FOUND', envelopeXdr: undefined, resultXdr: undefined, ledger: undefined };
        return { body: JSON.stringify(request.isBatch ? answers : answers[0]) };
      });
    },
  } as const;
  const outcomes: readonly (readonly [nodes: readonly (keyof typeof roles)[], hasLanded: boolean, kind: string])[] = [
    [['hiding', 'fresh'], true, 'unknown'],
    [['fresh', 'hiding'], true, 'unknown'],
    [['hiding', 'whole'], true, 'landed'],
    [['hiding', 'fresh', 'whole'], true, 'landed'],
    [['fresh', 'hiding', 'whole'], true, 'landed'],
    [['fresh', 'fresh', 'whole'], true, 'landed'],
    [['fresh', 'fresh', 'hiding'], true, 'unknown'],
    [['whole', 'fresh'], false, 'unknown'],
    [['fresh', 'whole'], false, 'unknown'],
    [['whole', 'fresh', 'whole'], false, 'dead'],
    [['fresh', 'whole', 'whole'], false, 'dead'],
    [['whole', 'whole'], false, 'dead'],
  ];
  for (const [nodes, hasLanded, kind] of outcomes) {
    it(`outcome of a fee-bump envelope around another account’s transaction: ${nodes.join(', ')}: ${hasLanded ? 'landed' : 'its number was used'} is ${kind}`, async (test) => {
      const rig = await start(test);
      const attempt = await signed(rig, 0);
      if (hasLanded) submitInner(rig, attempt);
      else rig.node.ledger.submit(rig.wallet.build([pay(rig.other, '2')]).toXdr());
      for (let count = 0; count < 5; count += 1) {
        rig.node.ledger.pass(5);
        rig.node.ledger.close();
      }
      const started: Awaited<ReturnType<(typeof roles)[keyof typeof roles]>>[] = [];
      for (const role of nodes) started.push(await roles[role](test, rig));
      test.after(() => Promise.all(started.map((one) => 'stop' in one && one.stop())));
      const chain = open(
        test,
        started.map(({ url }) => url),
      );
      await chain.head();
      assert.equal(await outcomeOf({ chain }, attempt), kind);
      if (!nodes.includes('fresh') || !nodes.includes('hiding') || nodes.includes('whole')) return;
      // The node of the draft may have numbered its ledgers wrongly.
      const fields = { ...onNetwork('stellar', attempt.fields), ledger: BigInt(rig.node.ledger.latest().sequence) };
      assert.equal(await outcomeOf({ chain }, { ...attempt, fields }), kind);
    });
  }

  it('outcome of a fee-bump envelope around another account’s transaction: is not final while another node has its ledger without it', async (test) => {
    const rig = await start(test);
    const honest = await startStellar();
    test.after(() => honest.stop());
    const attempt = await signed(rig, soon());
    submitInner(rig, attempt);
    rig.node.ledger.close();
    const finality = async (...nodes: readonly StellarNode[]) => {
      const chain = open(
        test,
        nodes.map(({ url }) => url),
      );
      await chain.head();
      const outcome = (await chain.unsequenced?.outcomes([attempt]))?.get(attempt.hash);
      return outcome?.kind === 'landed' ? outcome.isFinal : outcome?.kind;
    };
    assert.equal(await finality(rig.node, honest), false, 'a node behind its ledger does not confirm it');
    while (honest.ledger.latest().sequence < rig.node.ledger.latest().sequence) honest.ledger.close();
    const alike = await startStellar({ ledger: rig.node.ledger });
    test.after(() => alike.stop());
    assert.equal(await finality(rig.node, honest), false);
    assert.equal(await finality(rig.node, alike), true);
    assert.equal(await finality(rig.node), true);
  });

  it('outcome of a fee-bump envelope around another account’s transaction: is open until a ledger closes after its time bounds', async (test) => {
    const rig = await start(test);
    const attempt = await signed(rig, soon());
    assert.equal(await outcomeOf(rig, attempt), 'open');
    rig.node.ledger.pass(120);
    assert.equal(await outcomeOf(rig, attempt), 'open');
    rig.node.ledger.close();
    assert.equal(await agreedOutcomeOf(test, rig, attempt), 'dead');
  });

  it('outcome of a fee-bump envelope around another account’s transaction: is dead if its sequence number is used, and unknown if the node dropped ledgers since it was signed', async (test) => {
    const rig = await start(test, { retentionLedgers: 3 });
    const attempt = await signed(rig, 0);
    rig.node.ledger.submit(rig.wallet.build([pay(rig.other, '2')]).toXdr());
    rig.node.ledger.close();
    assert.equal(await agreedOutcomeOf(test, rig, attempt), 'dead');
    for (let count = 0; count < 5; count += 1) {
      rig.node.ledger.close();
    }
    assert.equal(await agreedOutcomeOf(test, rig, attempt), 'unknown');
  });

  it('outcome of a fee-bump envelope around another account’s transaction: is unknown if the node dropped its ledger and its account no longer exists', async (test) => {
    const rig = await start(test, { retentionLedgers: 3 });
    const attempt = await signed(rig, soon());
    submitInner(rig, attempt);
    rig.node.ledger.close();
    assert.equal(await outcomeOf(rig, attempt), 'landed');
    rig.node.ledger.pass(120);
    for (let count = 0; count < 5; count += 1) rig.node.ledger.close();
    rig.node.ledger.latest().state.accounts.delete(rig.wallet.address);
    assert.equal(await agreedOutcomeOf(test, rig, attempt), 'unknown');
  });

  it('outcome of a fee-bump envelope around another account’s transaction: is dead if its time bounds have passed and its sequence number is unused, even if the node dropped ledgers', async (test) => {
    const rig = await start(test, { retentionLedgers: 3 });
    const attempt = await signed(rig, soon());
    rig.node.ledger.pass(120);
    for (let count = 0; count < 5; count += 1) rig.node.ledger.close();
    assert.equal(await agreedOutcomeOf(test, rig, attempt), 'dead');
  });

  it('outcome of a fee-bump envelope around another account’s transaction: is open while nodes show only ledgers before it was signed: the network was reset', async (test) => {
    const rig = await start(test);
    const attempt = await signed(rig, soon());
    const fields = attempt.fields as StellarAttemptFields;
    rig.node.ledger.pass(120);
    for (let count = 0; count < 5; count += 1) rig.node.ledger.close();
    assert.equal(await agreedOutcomeOf(test, rig, attempt), 'dead');
    assert.equal(await agreedOutcomeOf(test, rig, { ...attempt, fields: { ...fields, ledger: fields.ledger + 1_000n } }), 'open');
  });

  it('outcome of a fee-bump envelope around another account’s transaction: is landed without a fee if another fee-bump envelope landed the inner transaction', async (test) => {
    const rig = await start(test);
    const attempt = await signed(rig, soon());
    const fields = attempt.fields as StellarAttemptFields;
    submitInner(rig, attempt);
    rig.node.ledger.close();
    const outcome = (await rig.chain.unsequenced?.outcomes([attempt]))?.get(attempt.hash);
    assert.ok(outcome?.kind === 'landed');
    assert.deepEqual([outcome.receipt.hash, outcome.receipt.facts?.feePaid], [fields.innerHash, 0n]);
  });
});

describe('malformed answer: throws NODE_UNAVAILABLE for', { concurrency: 4 }, () => {
  const nonsense: Readonly<Record<string, unknown>> = {
    'an answer that is not an object': 5,
    nothing: null,
    'an entry that is not an account': { entries: [{ xdr: 'AAAA' }], latestLedger: 1 },
    'an entry of another account': {
      entries: [
        {
          xdr: xdr.LedgerEntryData.account(
            new xdr.AccountEntry({
              accountId: stellarKey().keys.xdrAccountId(),
              balance: 1n,
              seqNum: 1n,
              numSubEntries: 0,
              inflationDest: null,
              flags: 0,
              homeDomain: '',
              thresholds: Buffer.alloc(4),
              signers: [],
              ext: xdr.AccountEntryExt.v0(),
            }),
          ).toXdr('base64'),
        },
      ],
      latestLedger: 1,
    },
    'a ledger number that is not a number': { entries: [], latestLedger: 'now' },
  };
  for (const [what, result] of Object.entries(nonsense)) {
    it(what, async (test) => {
      const fake = await startFakeNode(test, ({ calls }) => {
        const said = calls[0]?.method === 'getNetwork' ? { passphrase: stellarNetwork().passphrase } : result;
        return { body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: said }) };
      });
      const chain = open(test, [fake.url]);
      const asking = what === 'a ledger number that is not a number' ? chain.head() : chain.balanceOf(stellarKey().address);
      await assert.rejects(asking, (error) => error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE');
    });
  }
});

describe('draft', { concurrency: 4 }, () => {
  it('draft: pays the base fee and keeps the reserve that the newest ledger demands', async (test) => {
    const { node, chain, wallet, other } = await start(test);
    const relayer = stellarRelayer(wallet.address);
    const draft = async (amount: bigint, limit: Partial<StellarRequest> = {}) => {
      const request = stellarRequest({ operations: [payment(other.address, amount)], ...limit });
      const { content } = chain.contentOf(request, { relayer, nowMs: Date.now(), earlier: null });
      await chain.head();
      return chain.draft({ relayer, content, outbids: [], validUntilMs: null });
    };
    node.ledger.upgrade({ baseFeeStroops: 250n, baseReserveStroops: 20_000_000n });
    node.ledger.close();
    const drafted = await draft(1n);
    assert.ok(!('refused' in drafted) && drafted.network === 'stellar');
    assert.equal(drafted.bid.feeStroops, 250n);
    assert.equal(await chain.lockedOf(wallet.address), 40_000_000n);
    const all = wallet.balance();
    assert.ok(!('refused' in (await draft(all - 40_000_250n))));
    const over = await draft(all - 40_000_249n);
    assert.ok('refused' in over && over.refused === 'insufficient_funds');
    // Another node may say otherwise, so the limit does not fail the transaction.
    const limited = await draft(1n, { maxFeeStroops: 200n });
    assert.ok('refused' in limited);
    assert.deepEqual([limited.refused, limited.lasting], ['underpriced', false]);
  });

  it('draft: does not pay the base fee of a header that is far too high, and works without a header', async (test) => {
    const { node, wallet, other } = await start(test);
    node.ledger.upgrade({ baseFeeStroops: 2_000_000_000n });
    node.ledger.close();
    let hasHeader = true;
    const gateway = await startFakeNode(test, async (request) => {
      const answer = await relayed(node.url, request);
      return hasHeader ? answer : { body: answer.body.replace(/"headerXdr":"[^"]*",?/, '') };
    });
    const relayer = stellarRelayer(wallet.address);
    const priceBy = async (chain: StellarChain) => {
      await chain.head();
      const request = stellarRequest({ operations: [payment(other.address, 1n)] });
      const { content } = chain.contentOf(request, { relayer, nowMs: Date.now(), earlier: null });
      const drafted = await chain.draft({ relayer, content, outbids: [], validUntilMs: null });
      assert.ok(!('refused' in drafted) && drafted.network === 'stellar');
      return drafted.bid.feeStroops;
    };
    assert.equal(await priceBy(open(test, [gateway.url])), 10_000n);
    hasHeader = false;
    assert.equal(await priceBy(open(test, [gateway.url])), 100n);
  });

  it('draft: keeps the reserve and the minimum balance of the account', async (test) => {
    const { chain, wallet, other } = await start(test);
    const draft = async (amount: bigint, minBalanceStroops = 0n) => {
      const relayer = stellarRelayer(wallet.address, { minBalanceStroops });
      const { content } = chain.contentOf(stellarRequest({ operations: [payment(other.address, amount)] }), {
        relayer,
        nowMs: Date.now(),
        earlier: null,
      });
      return chain.draft({ relayer, content, outbids: [], validUntilMs: null });
    };
    const all = wallet.balance();
    assert.ok(!('refused' in (await draft(all - 10_000_000n - 100n))));
    assert.deepEqual(await draft(all - 10_000_000n - 99n), {
      refused: 'insufficient_funds',
      sentence: `insufficient balance: the account has ${all} stroops, of which 10000000 are reserved; the transaction may cost ${all - 9_999_999n}`,
      lasting: false,
      metadata: { balance_stroops: `${all}`, reserved_stroops: '10000000', cost_stroops: `${all - 9_999_999n}` },
    });
    assert.deepEqual(await draft(all - 50_000_000n, 50_000_000n), {
      refused: 'insufficient_funds',
      sentence: `insufficient balance: the account has ${all} stroops, of which 10000000 are reserved; the transaction may cost ${all - 49_999_900n}, and 50000000 must remain`,
      lasting: false,
      metadata: {
        balance_stroops: `${all}`,
        reserved_stroops: '10000000',
        cost_stroops: `${all - 49_999_900n}`,
        must_remain_stroops: '50000000',
      },
    });
  });
});

describe('second reading of a transaction', { concurrency: 4 }, () => {
  it('second reading of a transaction: an endpoint does not confirm its own word, after a restart too', async (test) => {
    const { node, wallet, other } = await start(test);
    const honest = await startStellar();
    test.after(() => honest.stop());
    const transaction = wallet.build([pay(other)]);
    node.ledger.submit(transaction.toXdr());
    node.ledger.close();
    while (honest.ledger.latest().sequence < node.ledger.latest().sequence) honest.ledger.close();
    const hash = hashOf(transaction);
    const blocks = { from: 0n, to: BigInt(node.ledger.latest().sequence) };
    const first = open(test, [node.url, honest.url]);
    await first.head();
    const receipt = (await first.sequence.receipts([hash], blocks)).found.get(hash);
    assert.ok(receipt !== undefined);
    assert.equal((await first.sequence.readAgain([receipt])).get(hash), 'different');
    for (const urls of [
      [node.url, honest.url],
      [honest.url, node.url],
    ]) {
      const restarted = open(test, urls);
      await restarted.head();
      assert.equal((await restarted.sequence.readAgain([receipt])).get(hash), 'different');
    }
  });

  it('second reading of a transaction: one in the fee bump of another account is the same under its own hash', async (test) => {
    const { node, wallet, other } = await start(test);
    const inner = wallet.build([pay(other)]);
    node.ledger.submit(other.bump(inner, 400n).toXdr());
    node.ledger.close();
    const alike = await startStellar({ ledger: node.ledger });
    test.after(() => alike.stop());
    const chain = open(test, [node.url, alike.url]);
    await chain.head();
    const hash = hashOf(inner);
    const receipt = (await chain.sequence.receipts([hash], { from: 0n, to: 9n })).found.get(hash);
    assert.ok(receipt !== undefined);
    assert.equal(receipt.facts?.feePaid, 0n);
    assert.equal((await chain.sequence.readAgain([receipt])).get(hash), 'same');
    const ownBump = { ...receipt, hash: 'ab'.repeat(32), otherHashes: [hash] };
    assert.equal((await chain.sequence.readAgain([ownBump])).get(ownBump.hash), 'same');
  });
});
