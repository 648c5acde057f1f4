import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createSolanaChain } from '../../../src/chains/solana/solana-chain.js';
import type { AttemptOutcome } from '../../../src/core/ports/chain/outcomes.js';
import { onNetwork } from '../../../src/core/records/on-network.js';
import type { Attempt } from '../../../src/core/records/transaction.js';
import { newest } from '../../../src/sandbox/solana/chain.js';
import { type AskedCall, type FakeNode, relayed, startFakeNode } from '../../support/fake-node.js';
import { solanaRelayer, transferInstruction } from '../../support/solana.js';
import { funds, outcomesIn, passingClock, startSolanaChain, receiver as to } from '../../support/solana-chain-rig.js';
import { silentLog } from '../../support/stored-samples.js';

/** A URL with several nodes behind it: each method goes to the node that `urlOf` names. Batches are split, or refused. */
function startGateway(test: TestContext, batches: 'split' | 'refused', urlOf: (method: string) => string): Promise<FakeNode> {
  return startFakeNode(test, async (request) => {
    if (request.isBatch && batches === 'refused')
      return { body: '{"jsonrpc":"2.0","error":{"code":-32600,"message":"batch requests are not supported"},"id":null}' };
    const answers = await Promise.all(
      request.calls.map(async (call) => {
        const text = JSON.stringify({ jsonrpc: '2.0', ...call });
        return JSON.parse((await relayed(urlOf(call.method), { ...request, text })).body) as object;
      }),
    );
    return { body: JSON.stringify(request.isBatch ? answers : answers[0]) };
  });
}

/** A node that answers as the one at `url`, except where `altered` returns another answer. */
function startAltered(test: TestContext, url: string, altered: (call: AskedCall) => object | null): Promise<FakeNode> {
  return startFakeNode(test, async (request) => {
    const answers = [JSON.parse((await relayed(url, request)).body)].flat();
    const items = answers.map((answer, at) => {
      const call = request.calls[at];
      const other = call === undefined ? null : altered(call);
      return other === null ? answer : { jsonrpc: '2.0', id: answer.id, ...other };
    });
    return { body: JSON.stringify(request.isBatch ? items : items[0]) };
  });
}

/** True for a search in the node's history. */
function isSearch({ method, params: [, options] }: AskedCall): boolean {
  return method === 'getSignatureStatuses' && JSON.stringify(options).includes('true');
}

/** A node in trouble that counts as working: no circuit breaker trips. */
const trouble = { error: { code: -32014, message: 'The block status is not yet available' } };

/** Starts a chain with these URLs, the first one first. */
function chainOn(test: TestContext, urls: readonly string[], account: string) {
  const { network } = solanaRelayer(account, {}, { averageBlockTimeMs: 1 });
  assert.ok(network.type === 'solana');
  const rpcUrls = urls.map((url, index) => ({ url, weight: 100 - index }));
  const { clock, pass } = passingClock();
  const chain = createSolanaChain({ network, rpcUrls, rpcTimeoutMs: 2_000, log: silentLog, clock });
  test.after(() => chain.close());
  /** Looks at a new head. */
  async function outcomes(attempts: readonly Attempt[]): Promise<ReadonlyMap<string, AttemptOutcome>> {
    await chain.head();
    return outcomesIn(chain, attempts, pass);
  }
  /** Looks at a new head, without the wait between two proofs. */
  async function read(attempt: Attempt): Promise<AttemptOutcome | undefined> {
    await chain.head();
    return (await chain.unsequenced?.outcomes([attempt]))?.get(attempt.hash);
  }
  return { outcomes, read, pass, kindOf: async (attempt: Attempt) => (await outcomes([attempt])).get(attempt.hash)?.kind };
}

/** Returns the outcome that a chain with these URLs reads. */
async function outcomeBy(test: TestContext, urls: readonly string[], attempt: Attempt): Promise<AttemptOutcome['kind'] | undefined> {
  return chainOn(test, urls, attempt.account).kindOf(attempt);
}

describe('outcome of an attempt', () => {
  it('outcome of an attempt: is open, then landed, then final; a dropped fork opens it again', async (test) => {
    const { payer, sent, advance, outcomeOf, solana, chain } = await startSolanaChain(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    assert.deepEqual(await outcomeOf(attempt), { kind: 'open' });
    await advance();
    const { slot } = solana.chain.tip(newest);
    const facts = { gasUsed: null, feePaid: onNetwork('solana', attempt.fields).feeLamports, returnValueXdr: null };
    const receipt = { hash: attempt.hash, blockNumber: slot, blockHash: slot.toString(), succeeded: true, facts };
    assert.deepEqual(await outcomeOf(attempt), { kind: 'landed', isFinal: false, receipt });
    solana.chain.takeBack(1);
    assert.deepEqual(await outcomeOf(attempt), { kind: 'open' });
    await chain.broadcastAll([attempt.raw]);
    await advance(40);
    const outcome = await outcomeOf(attempt);
    assert.ok(outcome.kind === 'landed' && outcome.isFinal && outcome.receipt.succeeded);
    assert.equal(outcome.receipt.facts?.feePaid, funds - 5n - (await chain.balanceOf(payer)));
  });

  it('outcome of an attempt: reports a failure and its cause', async (test) => {
    const { payer, signed, drafted, advance, outcomeOf, chain, relayer, solana } = await startSolanaChain(test);
    const attempt = await signed(await drafted({ instructions: [transferInstruction(payer, to, funds - 5_000_000n)] }));
    const meanwhile = await signed(await drafted({ instructions: [transferInstruction(payer, to, 10_000_000n)] }));
    await chain.broadcastAll([meanwhile.raw]);
    await advance();
    await chain.broadcastAll([attempt.raw]);
    await advance(2);
    const outcome = await outcomeOf(attempt);
    assert.ok(outcome.kind === 'landed' && !outcome.receipt.succeeded);
    const words = 'failed on chain: instruction 0 failed with program error 1 (0x1)';
    assert.match(
      await chain.whyFailed(outcome.receipt, relayer),
      new RegExp(`^${words.replace(/[()]/g, '\\$&')}: Transfer: insufficient lamports`),
    );
    solana.node.condition.keepsHistory = false;
    assert.equal(await chain.whyFailed(outcome.receipt, relayer), words);
    await solana.node.stop();
    assert.equal(await chain.whyFailed(outcome.receipt, relayer), 'failed on chain');
  });

  it('outcome of an attempt: is dead only after a finalized block above its last valid height', async (test) => {
    const { payer, sent, advance, outcomeOf, solana } = await startSolanaChain(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    solana.chain.pool.take(0n);
    const { lastValidBlockHeight } = onNetwork('solana', attempt.fields);
    const finalizedHeight = () => solana.chain.tip({ ...newest, commitment: 'finalized' }).height;
    await advance(Number(lastValidBlockHeight - finalizedHeight()));
    assert.equal(finalizedHeight(), lastValidBlockHeight);
    assert.deepEqual(await outcomeOf(attempt), { kind: 'open' });
    await advance();
    assert.deepEqual(await outcomeOf(attempt), { kind: 'dead', sentence: 'its blockhash expired before a block included it' });
  });

  it('outcome of an attempt: is dead also if it was drafted at blocks of a fork that was dropped', async (test) => {
    const { payer, sent, advance, outcomeOf, solana } = await startSolanaChain(test);
    await advance(4);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    solana.chain.pool.losesPackets = true;
    // The blocks that replace them have later slots, and begin at lower heights.
    solana.chain.takeBack(4);
    await advance(250);
    // The rest of its blocks is known at the first look, and read at the second.
    await outcomeOf(attempt);
    assert.equal((await outcomeOf(attempt)).kind, 'dead');
  });

  /** What a node that numbers its slots and heights wrongly leaves in an attempt. */
  const wrongNumbers = (['slots and heights', 'heights'] as const).flatMap((what) =>
    [3n, 60n, 200n, 10_000_000n].flatMap((by) =>
      what === 'heights' || by < 1_000n
        ? [
            { what, by },
            { what, by: -by },
          ]
        : [],
    ),
  );
  for (const { what, by } of wrongNumbers)
    it(`outcome of an attempt: is dead in time if the ${what} of its draft are wrong by ${by}`, async (test) => {
      const { payer, sent, advance, outcomeOf, solana } = await startSolanaChain(test);
      await advance(100);
      solana.chain.skipSlots(7);
      await advance(150);
      solana.chain.pool.losesPackets = true;
      const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
      await advance(20);
      solana.chain.skipSlots(7);
      await advance(20);
      const fields = onNetwork('solana', attempt.fields);
      const wrong: Attempt = {
        ...attempt,
        fields: {
          ...fields,
          sinceSlot: fields.sinceSlot + (what === 'heights' ? 0n : by),
          sinceHeight: fields.sinceHeight + by,
          lastValidBlockHeight: fields.lastValidBlockHeight + by,
        },
      };
      await advance(100);
      assert.equal((await outcomeOf(wrong)).kind, 'open', 'its blockhash is still valid');
      let kind = 'open';
      // Its lifetime, the number by which a slot is too high, and the time until blocks are final.
      for (let heads = 0; heads < 60 && kind !== 'dead'; heads += 1) {
        await advance(8);
        kind = (await outcomeOf(wrong)).kind;
      }
      assert.equal(kind, 'dead');
    });

  it('outcome of an attempt: is dead once a node that showed blocks wrongly shows them as they are', async (test) => {
    const lies: readonly (readonly [string, (body: string, hash: string) => string])[] = [
      ['other heights', (body) => body.replace(/"blockHeight":(\d+)/, (_, at: string) => `"blockHeight":${Number(at) - 5}`)],
      ['other parents', (body) => body.replace(/"previousBlockhash":"\w+"/, `"previousBlockhash":"${to}"`)],
      [
        'the attempt in a block',
        (body, hash) => body.replace(/"signatures":\[(?=(\])?)/, (_, end) => `"signatures":["${hash}"${end === undefined ? ',' : ''}`),
      ],
    ];
    for (const [what, lie] of lies)
      for (const until of ['every block', 'the first blocks', 'the last blocks']) {
        const { sent, payer, advance, solana } = await startSolanaChain(test);
        solana.chain.pool.losesPackets = true;
        const attempt = await sent({ instructions: [transferInstruction(payer, to, 1n)] });
        await advance(600);
        const { sinceSlot } = onNetwork('solana', attempt.fields);
        let isLying = true;
        const gateway = await startFakeNode(test, async (request) => {
          const [call] = request.calls;
          const answer = await relayed(solana.url, request);
          if (!isLying || request.isBatch || call?.method !== 'getBlock') return answer;
          const isEarly = BigInt(Number(call.params[0])) < sinceSlot + 70n;
          return until === 'every block' || isEarly === (until === 'the first blocks')
            ? { ...answer, body: lie(answer.body, attempt.hash) }
            : answer;
        });
        const { kindOf } = chainOn(test, [gateway.url], payer);
        const kind = async (): Promise<unknown> => {
          await advance(8);
          return kindOf(attempt);
        };
        for (let heads = 0; heads < 4; heads += 1) {
          const seen = await kind();
          // The first height only says how many more blocks are searched.
          if (what !== 'other heights' || until !== 'the first blocks') assert.equal(seen, 'open', `${what} in ${until}`);
        }
        isLying = false;
        let last: unknown;
        for (let heads = 0; heads < 12 && last !== 'dead'; heads += 1) last = await kind();
        assert.equal(last, 'dead', `${what} in ${until}`);
      }
  });

  it('outcome of an attempt: is dead even if the last block of its window, or every block, has no transactions', async (test) => {
    const { payer, sent, advance, outcomeOf, solana } = await startSolanaChain(test);
    solana.chain.pool.losesPackets = true;
    const attempts: Attempt[] = [];
    // One block of four has no vote, so the windows of four neighbors end with such a block once.
    for (let made = 0; made < 4; made += 1) {
      attempts.push(await sent({ instructions: [transferInstruction(payer, to, 5n)] }));
      await advance();
    }
    await advance(200);
    for (const attempt of attempts) assert.equal((await outcomeOf(attempt)).kind, 'dead');
    solana.chain.hasVotes = false;
    const quiet = await sent({ instructions: [transferInstruction(payer, to, 6n)] });
    await advance(200);
    assert.equal((await outcomeOf(quiet)).kind, 'dead');
  });

  it('outcome of an attempt: stays open if the node dropped its history, keeps none or has a gap', async (test) => {
    const { payer, sent, advance, outcomeOf, solana, warnings } = await startSolanaChain(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance();
    const { slot } = solana.chain.tip(newest);
    await advance(600);
    const { condition } = solana.node;
    condition.historyFromSlot = slot + 1n;
    assert.deepEqual(await outcomeOf(attempt), { kind: 'open' }, 'the node dropped the block that contains it');
    condition.keepsHistory = false;
    assert.deepEqual(await outcomeOf(attempt), { kind: 'open' });
    assert.deepEqual(await outcomeOf(attempt), { kind: 'open' });
    assert.equal(warnings.filter((message) => message.includes('could search its history')).length, 1);
    condition.keepsHistory = true;
    condition.historyFromSlot = 0n;
    condition.historyGap = { from: slot, to: slot };
    assert.deepEqual(await outcomeOf(attempt), { kind: 'open' }, 'the node was down during its block');
    condition.historyGap = null;
    assert.equal((await outcomeOf(attempt)).kind, 'landed');
  });

  it('outcome of an attempt: is not dead on the word of one endpoint if another one has it in a block', async (test) => {
    const { payer, sent, advance, solana, relayer } = await startSolanaChain(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(600);
    const { network } = relayer;
    assert.ok(network.type === 'solana');
    // It lists every block, but its index of signatures is incomplete.
    const forgetful = await startFakeNode(test, async (request) => {
      const answers = [JSON.parse((await relayed(solana.url, request)).body)].flat();
      for (const [at, { method }] of request.calls.entries())
        if (method === 'getSignatureStatuses') answers[at].result.value = answers[at].result.value.map(() => null);
      return { body: JSON.stringify(request.isBatch ? answers : answers[0]) };
    });
    const rpcUrls = [
      { url: forgetful.url, weight: 100 },
      { url: solana.url, weight: 50 },
    ];
    const chain = createSolanaChain({ network, rpcUrls, rpcTimeoutMs: 2_000, log: silentLog });
    test.after(() => chain.close());
    await chain.head();
    const outcomes = await chain.unsequenced?.outcomes([attempt]);
    assert.notEqual(outcomes?.get(attempt.hash)?.kind, 'dead');
  });

  it('outcome of an attempt: is not dead on the word of one endpoint that answers in place of that of the head', async (test) => {
    const { payer, sent, advance, solana } = await startSolanaChain(test);
    const landed = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(600);
    // It lists every block, but its index of signatures is empty.
    const forgetful = await solana.addNode();
    forgetful.condition.indexFromSlot = solana.chain.tip(newest).slot;
    // Its blocks do not show the attempt either, as blocks that a node invents would not.
    const liar = await startFakeNode(test, async (request) => {
      const { body } = await relayed(forgetful.url, request);
      return { body: body.replaceAll(landed.hash, landed.hash.split('').reverse().join('')) };
    });
    let failures = 0;
    const ofHead = await startAltered(test, solana.url, (call) => {
      if (call.method === 'getBlock') return { error: { code: -32004, message: 'Block not available' } };
      failures += isSearch(call) ? 1 : 0;
      return isSearch(call) && failures <= 2 ? trouble : null;
    });
    assert.equal(await outcomeBy(test, [ofHead.url, liar.url], landed), 'open');
    assert.equal(failures, 3, 'the endpoint of the head is asked for the second opinion');
    assert.equal(await outcomeBy(test, [ofHead.url, liar.url], landed), 'landed');
  });

  it('outcome of an attempt: is not dead while another endpoint is down, lags, or cannot search its history', async (test) => {
    const { payer, sent, advance, solana } = await startSolanaChain(test);
    solana.chain.pool.losesPackets = true;
    const dropped = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(600);
    const [without, lagging] = [await solana.addNode(), await solana.addNode()];
    without.condition.keepsHistory = false;
    lagging.condition.blocksBehind = 100;
    const down = await startFakeNode(test, () => 'hang up');
    const busy = await startFakeNode(test, () => ({ status: 429, headers: { 'retry-after': '30' }, body: '' }));
    const failing = await startAltered(test, solana.url, (call) => (isSearch(call) ? trouble : null));
    for (const [what, { url }] of Object.entries({ down, busy, failing, lagging })) {
      const working = [solana.url, without.url];
      assert.equal(await outcomeBy(test, [solana.url, url], dropped), 'open', `${what}, after one with history`);
      if (what !== 'lagging') assert.equal(await outcomeBy(test, [url, solana.url], dropped), 'open', `${what}, before one with history`);
      assert.equal(await outcomeBy(test, [...working, url], dropped), 'open', `${what}, after one without history`);
      assert.equal(
        await outcomeBy(test, [...working.toReversed(), url], dropped),
        'open',
        `${what}, after one with history, which is second`,
      );
    }
    assert.equal(await outcomeBy(test, [solana.url, without.url], dropped), 'dead');
    const odd = await startAltered(test, solana.url, (call) => (isSearch(call) ? { error: { code: -32099, message: 'Ask later' } } : null));
    const second = await solana.addNode();
    for (const urls of [
      [odd.url, solana.url, second.url],
      [solana.url, odd.url, second.url],
    ])
      assert.equal(await outcomeBy(test, urls, dropped), 'dead', 'words that are not known keep two others from nothing');
    assert.equal(await outcomeBy(test, [solana.url, lagging.url, second.url], dropped), 'dead', 'one of three always lags');
    for (const blocksBehind of [1, 8, 30]) {
      lagging.condition.blocksBehind = blocksBehind;
      assert.equal(await outcomeBy(test, [solana.url, lagging.url], dropped), 'dead', `the second is always ${blocksBehind} blocks behind`);
    }
  });

  for (const batches of ['split', 'refused'] as const) {
    for (const [what, conditionAt] of [
      ['was restored from a snapshot', (slot: bigint) => ({ historyFromSlot: slot + 1n })],
      ['was down for a while', (slot: bigint) => ({ historyGap: { from: slot - 20n, to: slot + 60n } })],
      ['began to keep history later', (slot: bigint) => ({ indexFromSlot: slot + 40n })],
    ] as const) {
      it(`outcome of an attempt: is not dead if a gateway has its batches ${batches} and the statuses come from a node that ${what}`, async (test) => {
        const { sent, payer, advance, solana } = await startSolanaChain(test);
        const landed = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
        await advance();
        const { slot } = solana.chain.tip(newest);
        await advance(600);
        const lacking = await solana.addNode();
        Object.assign(lacking.condition, conditionAt(slot));
        const gateway = await startGateway(test, batches, (method) => (method === 'getSignatureStatuses' ? lacking.url : solana.url));
        assert.equal(await outcomeBy(test, [gateway.url], landed), 'open');
      });
    }
  }

  it('outcome of an attempt: is not dead if the only node lost the index of its block alone in a crash', async (test) => {
    const { sent, payer, advance, outcomeOf, solana } = await startSolanaChain(test);
    const landed = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(6);
    const slot = solana.chain.placeOf(landed.hash, newest)?.slot;
    assert.ok(slot !== undefined);
    await advance(600);
    solana.node.condition.indexGap = { from: slot, to: slot };
    for (let head = 0; head < 5; head += 1) {
      assert.equal((await outcomeOf(landed)).kind, 'open');
      await advance();
    }
    solana.node.condition.indexGap = null;
    assert.equal((await outcomeOf(landed)).kind, 'landed');
  });

  for (const [what, hasLanded] of [
    ['landed', true],
    ['can still land', false],
  ] as const)
    it(`outcome of an attempt: is not dead by the only node while that shows another chain for three minutes, if it ${what}`, async (test) => {
      const { payer, sent, advance, solana } = await startSolanaChain(test);
      const stranger = await startSolanaChain(test);
      solana.chain.pool.losesPackets = !hasLanded;
      const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
      await advance(40);
      await stranger.advance(1_000);
      let url = solana.url;
      const gateway = await startFakeNode(test, async (request) => {
        const answer = await relayed(url, request);
        return { ...answer, body: answer.body.replaceAll(stranger.solana.chain.genesisHash, solana.chain.genesisHash) };
      });
      const { read, pass } = chainOn(test, [gateway.url], payer);
      url = stranger.solana.url;
      const proved = { kind: 'open', isProvedOnce: true } as const;
      for (const [seconds, expected] of [
        [0, proved],
        [60, proved],
        [120, proved],
      ] as const) {
        pass(seconds * 1_000);
        await stranger.advance(4);
        assert.deepEqual(await read(attempt), expected);
      }
      url = solana.url;
      pass(60_000);
      await read(attempt);
      const shown = await read(attempt);
      assert.equal(shown?.kind, hasLanded ? 'landed' : 'open');
      // What it shows now contradicts its first proof, and what it has called final never counts as dead by its word.
      url = stranger.solana.url;
      for (const _ of ['once', 'again']) {
        pass(300_000);
        await stranger.advance(4);
        const last = await read(attempt);
        if (hasLanded) assert.deepEqual(last, { kind: 'open', isDoubted: true });
        else assert.notEqual(last?.kind, 'landed');
      }
    });

  it('outcome of an attempt: reads each block once for all attempts, and at most 384 blocks at a head', async (test) => {
    const { sent, payer, advance, solana } = await startSolanaChain(test);
    const { outcomes } = chainOn(test, [solana.url, (await solana.addNode()).url], payer);
    solana.chain.pool.losesPackets = true;
    const dropped: Attempt[] = [];
    for (let amount = 1n; amount <= 9n; amount += 1n) {
      if (amount === 4n || amount === 7n) await advance(300);
      dropped.push(await sent({ instructions: [transferInstruction(payer, to, amount)] }));
    }
    await advance(600);
    const asked = () => solana.node.calls.get('getBlock') ?? 0;
    const dead = async () => [...(await outcomes(dropped))].filter(([, { kind }]) => kind === 'dead').length;
    assert.equal(await dead(), 6);
    assert.equal(asked(), 384);
    assert.equal(await dead(), 9);
    assert.ok(asked() > 450 && asked() <= 456, `${asked()} blocks`);
    await dead();
    assert.ok(asked() <= 456, `${asked()} blocks`);
  });

  it('outcome of an attempt: blocks that nodes do not show keep no other attempt from its proof', async (test) => {
    const { sent, payer, advance, solana } = await startSolanaChain(test);
    solana.chain.pool.losesPackets = true;
    const attempts: Attempt[] = [];
    for (const blocksUntilNext of [10, 300, 10, 300, 0]) {
      attempts.push(await sent({ instructions: [transferInstruction(payer, to, BigInt(attempts.length + 1))] }));
      await advance(blocksUntilNext);
    }
    await advance(600);
    // The second and the fourth attempt need neither of these blocks.
    const hidden = new Set([attempts[0], attempts[2]].map((one) => one && Number(onNetwork('solana', one.fields).sinceSlot) + 5));
    const gateway = await startFakeNode(test, (request) => {
      const [call] = request.calls;
      if (request.isBatch || call?.method !== 'getBlock' || !hidden.has(Number(call.params[0]))) return relayed(solana.url, request);
      return { body: JSON.stringify({ jsonrpc: '2.0', id: call.id, error: { code: -32004, message: 'Block not available' } }) };
    });
    const { outcomes } = chainOn(test, [gateway.url], payer);
    async function kinds(): Promise<readonly unknown[]> {
      const shown = await outcomes(attempts);
      await advance(4);
      return attempts.map(({ hash }) => shown.get(hash)?.kind);
    }
    await kinds();
    assert.deepEqual(await kinds(), ['open', 'dead', 'open', 'dead', 'dead']);
    hidden.clear();
    await kinds();
    assert.deepEqual(await kinds(), ['dead', 'dead', 'dead', 'dead', 'dead']);
  });

  it('outcome of an attempt: one height that is far too high does not put off its proof', async (test) => {
    const { sent, payer, advance, solana } = await startSolanaChain(test);
    solana.chain.pool.losesPackets = true;
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 1n)] });
    await advance(600);
    let isLying = true;
    const gateway = await startFakeNode(test, async (request) => {
      const [call] = request.calls;
      if (!isLying || request.isBatch || call === undefined) return relayed(solana.url, request);
      if (call.method === 'getBlock')
        return { body: JSON.stringify({ jsonrpc: '2.0', id: call.id, error: { code: -32004, message: 'Block not available' } }) };
      const { body } = await relayed(solana.url, request);
      return {
        body: body.replace(/"(blockHeight|absoluteSlot)":(\d+)/g, (_, name: string, at: string) => `"${name}":${Number(at) + 100_000}`),
      };
    });
    const { kindOf } = chainOn(test, [gateway.url], payer);
    async function kind(): Promise<unknown> {
      const shown = await kindOf(attempt);
      await advance(4);
      return shown;
    }
    assert.equal(await kind(), 'open');
    isLying = false;
    await kind();
    assert.equal(await kind(), 'dead');
  });

  it('outcome of an attempt: is dead if a gateway splits batches and every node behind it has the history', async (test) => {
    const { sent, payer, advance, solana } = await startSolanaChain(test);
    solana.chain.pool.losesPackets = true;
    const dropped = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(600);
    const second = await solana.addNode();
    const gateway = await startGateway(test, 'split', (method) => (method === 'getSignatureStatuses' ? second.url : solana.url));
    assert.equal(await outcomeBy(test, [gateway.url], dropped), 'dead');
  });

  it('outcome of an attempt: is not dead by the answers of an endpoint that refuses batches', async (test) => {
    const { sent, payer, advance, solana } = await startSolanaChain(test);
    solana.chain.pool.losesPackets = true;
    const dropped = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(600);
    const gateway = await startGateway(test, 'refused', () => solana.url);
    assert.equal(await outcomeBy(test, [gateway.url], dropped), 'open');
    assert.equal(await outcomeBy(test, [gateway.url, solana.url], dropped), 'dead');
  });

  it('outcome of an attempt: is dead on the word of the only endpoint that keeps history, in any order', async (test) => {
    const { sent, payer, advance, solana } = await startSolanaChain(test);
    solana.chain.pool.losesPackets = true;
    const dropped = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(600);
    const second = await solana.addNode();
    solana.node.condition.keepsHistory = false;
    assert.equal(await outcomeBy(test, [solana.url], dropped), 'open');
    assert.equal(await outcomeBy(test, [solana.url, second.url], dropped), 'dead');
    assert.equal(await outcomeBy(test, [second.url, solana.url], dropped), 'dead');
    const third = await solana.addNode();
    third.condition.keepsHistory = false;
    assert.equal(await outcomeBy(test, [solana.url, second.url, third.url], dropped), 'dead');
    assert.equal(await outcomeBy(test, [second.url, solana.url, third.url], dropped), 'dead');
  });

  it('outcome of an attempt: is unknown after a day without a node that can prove it', async (test) => {
    const { payer, sent, advance, outcomeOf, solana } = await startSolanaChain(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(600);
    const { condition } = solana.node;
    const fields = onNetwork('solana', attempt.fields);
    const { height } = solana.chain.tip({ ...newest, commitment: 'confirmed' });
    const ended = (lastValidBlockHeight: bigint, heightsOnly = false): Attempt => {
      const earlier = fields.lastValidBlockHeight - lastValidBlockHeight;
      const since = { sinceHeight: fields.sinceHeight - earlier, sinceSlot: fields.sinceSlot - (heightsOnly ? 0n : earlier) };
      return { ...attempt, fields: { ...fields, ...since, lastValidBlockHeight } };
    };
    const states: readonly Partial<typeof condition>[] = [{ historyFromSlot: solana.chain.tip(newest).slot }, { keepsHistory: false }];
    for (const state of states) {
      Object.assign(condition, { historyFromSlot: 0n, keepsHistory: true }, state);
      assert.deepEqual(await outcomeOf(ended(height - 216_000n)), { kind: 'open' });
      assert.deepEqual(await outcomeOf(ended(height - 216_001n)), { kind: 'unknown' });
      assert.deepEqual(await outcomeOf(ended(height - 216_001n, true)), { kind: 'open' }, 'its heights alone are those of another day');
    }
  });

  it('outcome of an attempt: is found by a node that lists no blocks, but not proved dead by it', async (test) => {
    const { payer, sent, advance, outcomeOf, solana } = await startSolanaChain(test);
    const landed = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance();
    solana.chain.pool.losesPackets = true;
    const dropped = await sent({ instructions: [transferInstruction(payer, to, 6n)] });
    await advance(600);
    solana.node.fail('getBlocksWithLimit', { error: { code: -32601, message: 'Method not found' } }, 1_000);
    assert.equal((await outcomeOf(landed)).kind, 'landed');
    assert.deepEqual(await outcomeOf(dropped), { kind: 'open' });
    solana.node.heal();
    assert.equal((await outcomeOf(dropped)).kind, 'dead');
  });

  it('outcome of an attempt: is read for at most 256 attempts per call', async (test) => {
    const { payer, drafted, signed, chain, solana, advance } = await startSolanaChain(test);
    const attempts: Attempt[] = [];
    for (let made = 0; made < 3; made += 1)
      attempts.push(await signed(await drafted({ instructions: [transferInstruction(payer, to, 5n)] })));
    const [first] = attempts;
    assert.ok(first !== undefined);
    const many = Array.from({ length: 257 }, () => first);
    await advance();
    const outcomes = await chain.unsequenced?.outcomes([...attempts, ...many]);
    assert.equal(outcomes?.size, 3);
    assert.equal(solana.node.calls.get('getSignatureStatuses'), 2);
  });
});
