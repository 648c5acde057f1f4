import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { computeBudgetOf } from '../../../src/chains/solana/compute-budget.js';
import { createSolanaChain } from '../../../src/chains/solana/solana-chain.js';
import { transactionBytes, transactionFromBytes } from '../../../src/chains/solana/wire.js';
import { onNetwork } from '../../../src/core/records/on-network.js';
import { relayed, startFakeNode } from '../../support/fake-node.js';
import { solanaRequest, transferInstruction } from '../../support/solana.js';
import { receiver, startSolanaChain } from '../../support/solana-chain-rig.js';
import { memoInstruction } from '../../support/solana-samples.js';
import { silentLog } from '../../support/stored-samples.js';

const places = ['the heavier of two', 'the lighter of two', 'the heaviest of three'] as const;
type Place = (typeof places)[number];
type Simulation = Record<string, unknown>;

/** Drafts a payment with notes on nodes that relay one cluster, of which the one at `place` changes its simulations. */
async function draftWithLiar(test: TestContext, place: Place, lie: (simulation: Simulation) => void) {
  const { solana, relayer, payer } = await startSolanaChain(test);
  if (relayer.network.type !== 'solana') throw new Error('it is on Solana');
  const liar = place === 'the lighter of two' ? 1 : 0;
  const nodes = await Promise.all(
    Array.from({ length: place === 'the heaviest of three' ? 3 : 2 }, (_, index) =>
      startFakeNode(test, async (request) => {
        // The cluster may end before the last question.
        const { body } = await relayed(solana.url, request).catch(() => ({ body: '[]' }));
        const parsed = JSON.parse(body);
        for (const [at, answer] of [parsed].flat().entries())
          if (index === liar && request.calls[at]?.method === 'simulateTransaction') lie(answer.result.value);
        return { body: JSON.stringify(parsed) };
      }),
    ),
  );
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
  const chain = createSolanaChain({ network: relayer.network, rpcUrls, rpcTimeoutMs: 30_000, log: silentLog });
  test.after(() => chain.close());
  await chain.head();
  const instructions = [...Array.from({ length: 12 }, () => memoInstruction()), transferInstruction(payer, receiver, 5n)];
  const { content } = chain.contentOf(solanaRequest({ instructions }), { relayer, nowMs: Date.now(), earlier: null });
  const made = await chain.draft({ relayer, content, outbids: [], validUntilMs: null });
  const asked = nodes.flatMap(({ methods }) => methods.filter((method) => method === 'simulateTransaction')).length;
  assert.ok(asked <= (place === 'the heaviest of three' ? 3 : 2), `${asked} simulations`);
  return made;
}

const text = (value: unknown) => JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part));
const owner = 'Vote111111111111111111111111111111111111111';

describe('what the simulation of one node alone says', { concurrency: 4 }, () => {
  const failing = (err: unknown) => (simulation: Simulation) => void Object.assign(simulation, { err });
  const lies: Readonly<Record<string, (simulation: Simulation) => void>> = {
    'too few units': (simulation) => void Object.assign(simulation, { unitsConsumed: 1 }),
    'no units': (simulation) => void Object.assign(simulation, { unitsConsumed: null }),
    'that it spends everything': (simulation) => void Object.assign(simulation, { preBalances: [10 ** 12, 1, 1], postBalances: [0, 1, 1] }),
    'that nothing is left': ({ accounts }) => void Object.assign((accounts as readonly object[])[0] ?? {}, { lamports: 0 }),
    'a fee just below the maximum': (simulation) => void Object.assign(simulation, { fee: 999_999 }),
    'that the payer lacks the fee': failing('InsufficientFundsForFee'),
    'that the blockhash is unknown': failing('BlockhashNotFound'),
    'that an account is in use': failing('AccountInUse'),
    'that the payer cannot pay fees': failing('InvalidAccountForFee'),
    'that an instruction fails': failing({ InstructionError: [0, { Custom: 1 }] }),
  };
  for (const [what, lie] of Object.entries(lies)) {
    for (const place of places) {
      it(`simulation: ${what}, as ${place} says, neither keeps a payment waiting nor makes it fail`, async (test) => {
        const made = await draftWithLiar(test, place, lie);
        assert.ok(!('refused' in made), text(made));
        const { message, signatures } = onNetwork('solana', made);
        const missing = signatures.map(() => new Uint8Array(64));
        const { unitLimit } = computeBudgetOf(transactionFromBytes(transactionBytes(missing, Buffer.from(message, 'base64'))).message);
        assert.ok(unitLimit !== null && unitLimit >= 3_000, `${unitLimit}`);
      });
    }
  }

  for (const place of places) {
    const isOutvoted = place === 'the heaviest of three';
    it(`simulation: an account change that only ${place} shows ${isOutvoted ? 'is outvoted' : 'makes the payment wait'}`, async (test) => {
      const made = await draftWithLiar(test, place, ({ accounts }) => {
        Object.assign((accounts as readonly object[])[0] ?? {}, { owner });
      });
      if (isOutvoted) assert.ok(!('refused' in made), text(made));
      else assert.ok('refused' in made && made.refused === 'not_allowed' && !made.lasting && /\(assign\)/.test(made.sentence), text(made));
    });
  }
});
