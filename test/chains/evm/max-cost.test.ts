import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { withinMaxCost } from '../../../src/chains/evm/fee-ceiling.js';
import { costBoundOf } from '../../../src/chains/evm/rules.js';
import { maxCost } from '../../../src/core/fees/price.js';
import type { DraftRequest, Refusal } from '../../../src/core/ports/chain/drafts.js';
import type { EvmContent, EvmDraft, EvmPrice } from '../../../src/core/records/evm.js';
import type { CostBound, EvmRule } from '../../../src/core/records/spending-rule.js';
import type { Attempt } from '../../../src/core/records/transaction.js';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { anvilSigner, gwei, openChain, signedAttempt } from '../../support/chain-rig.js';
import { draftRequest, evmContent, evmPolicies, evmRelayer } from '../../support/evm.js';
import { answering, relayed, startFakeNode } from '../../support/fake-node.js';
import { runs } from '../../support/runs.js';
import { anAttempt } from '../../support/stored-samples.js';

const { address } = anvilSigner;
const oracle = '0x420000000000000000000000000000000000000F';
const l1FeeWei = 4_000_000n;
const baseFeeWei = 10n * gwei;
let node: Anvil;

before(async () => {
  node = await startAnvil({ noMining: true });
  await node.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${baseFeeWei.toString(16)}`]);
  await node.mine();
  // A contract that returns the fee for any call.
  await node.rpc('anvil_setCode', [oracle, `0x63${l1FeeWei.toString(16).padStart(8, '0')}60005260206000f3`]);
});
after(() => node.stop());

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
  },
  ...{ limits: [], approvals: null, approvalMs: null },
};
const boundOf = (maxWei: bigint): CostBound => ({ ruleId: 'teams', max: maxWei });
const legacy = (gasPriceWei: bigint): EvmPrice => ({ kind: 'legacy', gasPriceWei });
const eip1559 = (maxFeePerGasWei: bigint, maxPriorityFeePerGasWei = 0n): EvmPrice => ({
  ...{ kind: 'eip1559', maxFeePerGasWei, maxPriorityFeePerGasWei },
});
const highest = (price: EvmPrice): bigint => (price.kind === 'legacy' ? price.gasPriceWei : price.maxFeePerGasWei);
/** What nodes ask of a replacement. */
const stepOver = (wei: bigint): bigint => (wei * 11n) / 10n + 1n;
function attemptAt(price: EvmPrice): Attempt {
  const attempt = anAttempt({ transactionId: 't' });
  return { ...attempt, fields: { ...attempt.fields, price } };
}

const isRefused = (draft: EvmDraft | Refusal): draft is Refusal => 'refused' in draft;

async function drafted(
  chain: ReturnType<typeof openChain>['chain'],
  content: Partial<EvmContent> | 'filler',
  changes: Partial<DraftRequest> & { rules?: readonly EvmRule[] | null } = {},
): Promise<EvmDraft | Refusal> {
  const { rules = null, ...rest } = changes;
  const policies = evmPolicies({ rules });
  return chain.draft(draftRequest(address, { content: content === 'filler' ? content : evmContent(content), policies, ...rest }));
}

describe('max_cost', () => {
  it('no price is chosen with which an attempt, or the self-transfer that outbids it, costs more', async () => {
    const wei = fc.bigInt({ min: 0n, max: 10n ** 12n });
    let lowered = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.record({ max: fc.bigInt({ min: 1n, max: 2n ** 128n }), small: fc.boolean(), isCallers: fc.boolean() }),
        fc.record({
          price: wei,
          base: wei,
          gas: fc.constantFrom(21_000n, 23_099n, 23_100n, 25_411n, 60_000n, 2n ** 63n - 1n),
          live: fc.option(wei),
          freeingGas: fc.constantFrom(23_100n, 60_000n, 2_000_000n),
        }),
        fc.record({ value: fc.oneof(wei, fc.constant(2n ** 128n - 1n)), l1: wei, kind: fc.constantFrom(legacy, eip1559) }),
        async ({ max, small, isCallers }, { price, base, gas, live, freeingGas }, { value, l1, kind }) => {
          const maxWei = small ? value + l1 + (max % 10n ** 16n) : max;
          const outbids = live === null ? [] : [attemptAt(kind(live))];
          const market = {
            baseFeeWei: async () => base,
            priceToFree: async () => kind(price),
          };
          const chosen = {
            price: kind(price),
            gasLimit: gas,
            freeingGas,
            outbids,
            isFiller: false,
            isCallers,
            market,
            valueWei: value,
            publishingFeeWei: l1,
          };
          const found = await withinMaxCost(boundOf(maxWei), chosen);
          if ('refused' in found) {
            assert.equal(found.refused, 'above_max_cost');
            assert.match(found.sentence, /the rule teams/);
            const own = gas * price;
            const outbidding = freeingGas * stepOver(price);
            const freeing = live === null ? freeingGas * (kind === legacy && base === 0n ? price : base) : 0n;
            const needed = value + l1 + [outbidding, freeing].reduce((most, one) => (one > most ? one : most), own);
            assert.ok(needed > maxWei, 'refused although it fits');
            return;
          }
          if (highest(found) < price) lowered += 1;
          assert.ok(highest(found) <= price);
          assert.ok(!isCallers || highest(found) === price, "the caller's own price is never lowered");
          assert.ok(value + gas * highest(found) + l1 <= maxWei);
          assert.ok(value + freeingGas * stepOver(highest(found)) + l1 <= maxWei);
          if (live === null)
            assert.ok(value + freeingGas * (kind === legacy && base === 0n ? price : base) + l1 <= maxWei, 'its slot can be freed');
          if (live !== null && highest(found) < price) assert.ok(highest(found) >= stepOver(live));
        },
      ),
      { numRuns: runs(5_000) },
    );
    assert.ok(lowered > 50, String(lowered));
  });

  it('what was decided at acceptance holds, and the rules of now only make it less', () => {
    const content = evmContent({ maxCost: boundOf(100n) });
    const teams = { ...rule, id: 'teams', apiKeyIds: ['a'] };
    const others = { ...rule, id: 'others', apiKeyIds: ['b'] };
    const bound = (rules: readonly EvmRule[] | null, of: EvmContent = content) => costBoundOf(rules, of, null)?.max ?? null;
    assert.equal(bound(null), 100n, 'rules that ended');
    assert.equal(bound([rule]), 100n);
    assert.equal(bound([{ ...teams, maxCostWei: 500n }]), 100n, 'a higher maximum is for what is accepted from then on');
    assert.equal(bound([{ ...teams, maxCostWei: 50n }]), 50n);
    assert.equal(
      bound([
        { ...others, maxCostWei: 1n },
        { ...teams, maxCostWei: 50n },
      ]),
      50n,
      'the rule of another key is not its own',
    );
    assert.equal(
      bound([
        { ...others, maxCostWei: 90n },
        { ...teams, maxCostWei: 50n },
      ]),
      50n,
      'also if that is higher',
    );
    assert.equal(bound([{ ...others, maxCostWei: 1n }, teams]), 100n);
    assert.equal(
      bound([
        { ...rule, maxCostWei: 3n },
        { ...teams, maxCostWei: 50n },
      ]),
      3n,
      'a rule before its own, for all keys',
    );
    const earlier = evmContent();
    assert.equal(bound(null, earlier), null);
    assert.equal(bound([rule], earlier), null);
    assert.equal(bound([{ ...rule, maxCostWei: 9n }], earlier), 9n, 'it was accepted without a rule');
    assert.equal(
      bound(
        [
          { ...others, maxCostWei: 1n },
          { ...teams, maxCostWei: 50n },
        ],
        earlier,
      ),
      50n,
      'either may have allowed it',
    );
    assert.equal(bound([{ ...others, maxCostWei: 1n }, teams], earlier), null, 'and one has no maximum');
    assert.equal(bound([{ ...others, maxCostWei: 70n }, { ...teams, maxCostWei: 50n }, rule], earlier), null);
    const approving = { ...rule, id: 'asking', effect: 'approve' as const, maxCostWei: 7n };
    assert.equal(costBoundOf([approving], earlier, 'approved')?.max, 7n);
  });

  it('a first attempt is priced within it, or waits and names the rule', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const usual = await drafted(chain, { valueWei: 7n });
    assert.ok(!isRefused(usual));
    const most = 7n + 23_100n * 14n * gwei;
    assert.ok(maxCost(usual) > most, 'the market would cost more');
    const capped = await drafted(chain, { valueWei: 7n, maxCost: boundOf(most) });
    assert.ok(
      !isRefused(capped),
      JSON.stringify(capped, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    );
    assert.ok(maxCost(capped) <= most && highest(capped.price) > baseFeeWei);
    assert.ok(23_100n * stepOver(highest(capped.price)) <= most - 7n);
    const waiting = await drafted(chain, { valueWei: 7n, maxCost: boundOf(7n + 23_100n * 8n * gwei) });
    assert.ok(isRefused(waiting) && !waiting.lasting && waiting.ruleId === 'teams');
    assert.match(
      waiting.sentence,
      /^waiting: the transaction may cost \d+ wei, and max_cost of the rule teams is 184800000000007 wei; will send/,
    );
    const above = await drafted(chain, { valueWei: 7n, maxCost: boundOf(6n) });
    assert.ok(isRefused(above) && above.refused === 'above_max_cost', 'its value alone');
    const now = await drafted(chain, { valueWei: 7n }, { rules: [{ ...rule, maxCostWei: most }] });
    assert.ok(!isRefused(now) && maxCost(now) <= most, 'a rule that is newer than the transaction');
    const own = { valueWei: 7n, maxCost: boundOf(most), pricing: legacy(30n * gwei) };
    assert.ok(isRefused(await drafted(chain, own)), "the caller's price is not lowered");
    assert.ok(!isRefused(await drafted(chain, { ...own, pricing: legacy(10n * gwei) })));
  });

  it('a fee bump is priced within it, or the current attempt stays', async (test) => {
    const { chain } = openChain(test, [node.url]);
    await chain.head();
    const content = evmContent({ maxCost: boundOf(23_100n * 20n * gwei) });
    const live = await signedAttempt(chain, 0n, { valueWei: content.valueWei, gasLimit: 21_000n, price: eip1559(11n * gwei, gwei / 10n) });
    const bump = (of: EvmContent, rules: readonly EvmRule[] | null = null) =>
      chain.sequence.bumpFee({ relayer: evmRelayer(live.account, { rules }), content: of, live, outbids: [live], reason: 'demanded' });
    const raised = await bump(content);
    assert.ok(!isRefused(raised) && maxCost(raised) <= 23_100n * 20n * gwei && highest(raised.price) >= stepOver(11n * gwei));
    const below = content.valueWei + 23_100n * stepOver(stepOver(11n * gwei)) - 1n;
    const refused = await bump(evmContent({ maxCost: boundOf(below) }));
    assert.ok(isRefused(refused));
    assert.match(
      refused.sentence,
      /^a replacement may cost \d+ wei, and max_cost of the rule teams is \d+ wei; the current attempt stays live$/,
    );
    assert.ok(!isRefused(await bump(evmContent({ maxCost: boundOf(below + 1n) }))));
    assert.ok(isRefused(await bump(evmContent(), [{ ...rule, maxCostWei: below }])), 'rules of now');
  });

  it('a self-transfer costs at most what its slot was allowed, whatever its value was; rules of now only raise that', async (test) => {
    const { chain } = openChain(test, [node.url]);
    await chain.head();
    const live = await signedAttempt(chain, 0n, { gasLimit: 23_100n, price: eip1559(11n * gwei, gwei / 10n) });
    const least = 23_100n * stepOver(11n * gwei);
    const teams = (maxCostWei: bigint | null) => [{ ...rule, id: 'teams', maxCostWei }];
    const insteadOf = (maxWei: bigint) => evmContent({ valueWei: maxWei - 5n, maxCost: boundOf(maxWei) });
    const fillerIn = (maxWei: bigint, rules: readonly EvmRule[] | null) =>
      drafted(chain, 'filler', { outbids: [live], insteadOf: insteadOf(maxWei), rules });
    const filler = await fillerIn(least, teams(1n));
    assert.ok(!isRefused(filler) && maxCost(filler) <= least);
    const refused = await fillerIn(least - 1n, teams(1n));
    assert.ok(isRefused(refused) && refused.refused === 'above_max_cost');
    for (const rules of [null, [], teams(null), teams(least)])
      assert.ok(!isRefused(await fillerIn(least - 1n, rules)), 'an operator frees the slot');
    assert.ok(
      !isRefused(await drafted(chain, 'filler', { outbids: [live], rules: teams(1n) })),
      'what fills a gap is in the slot of no rule',
    );
    const slot = { ...live, purpose: 'cancel' as const };
    const bumped = await chain.sequence.bumpFee({
      relayer: evmRelayer(live.account, { rules: teams(1n) }),
      content: insteadOf(least),
      live: slot,
      outbids: [slot],
      reason: 'demanded',
    });
    assert.ok(!isRefused(bumped) && bumped.gasLimit * highest(bumped.price) <= least);
  });

  it('content takes a slot only if the slot could be freed at the price of now within the maximum, whatever the caller bids', async (test) => {
    const { chain } = openChain(test, [node.url]);
    await chain.head();
    const maxCost = boundOf(10n ** 16n);
    for (const pricing of [legacy(1n), eip1559(1n, 1n), { kind: 'speed', speed: 'safeLow' }] as const) {
      const content = { gasLimit: 21_000n, maxCost, pricing };
      const refused = await drafted(chain, { ...content, valueWei: maxCost.max - 23_100n * 8n * gwei });
      assert.ok(isRefused(refused) && refused.refused === 'above_max_cost', pricing.kind);
      assert.match(
        refused.sentence,
        /^waiting: the transaction(?:, or what frees its slot,)? may cost \d+ wei, and max_cost of the rule teams is/,
      );
      const taken = await drafted(chain, { ...content, valueWei: maxCost.max - 23_100n * 100n * gwei });
      assert.ok(!isRefused(taken), isRefused(taken) ? taken.sentence : '');
    }
  });

  it('the L1 fee of a rollup counts, and content waits while no node says it', async (test) => {
    let isAway = false;
    const proxy = await startFakeNode(test, (request) =>
      isAway && request.calls.some(({ params }) => JSON.stringify(params).includes(oracle))
        ? { status: 503, body: '' }
        : relayed(node.url, request),
    );
    const { chain } = openChain(test, [proxy.url], { tags: ['optimism'] });
    await chain.head();
    const l1 = (l1FeeWei * 125n) / 100n;
    const most = 30_000n * 14n * gwei;
    const draft = await drafted(chain, { valueWei: 0n, gasLimit: 30_000n, maxCost: boundOf(most) });
    assert.ok(!isRefused(draft) && draft.publishingFeeWei === l1);
    assert.equal(highest(draft.price), (most - l1) / 30_000n, 'all of it that is left is for gas');
    isAway = true;
    const unknown = { valueWei: 0n, gasLimit: 40_000n, data: '0x01', to: address, maxCost: boundOf(10n ** 18n) };
    await assert.rejects(drafted(chain, unknown), { reason: 'NODE_UNAVAILABLE' });
    const { maxCost: _, ...unbounded } = unknown;
    const live = await signedAttempt(chain, 0n, { to: address, data: '0x01', price: eip1559(11n * gwei, gwei / 10n) });
    const bumped = await chain.sequence.bumpFee({
      relayer: evmRelayer(live.account),
      content: evmContent(unknown),
      live,
      outbids: [live],
      reason: 'demanded',
    });
    assert.ok(isRefused(bumped) && bumped.sentence === 'its cost is unknown; the current attempt stays live');
    assert.ok(!isRefused(await drafted(chain, unbounded)));
    const filler = await drafted(chain, 'filler', {
      insteadOf: evmContent({ maxCost: boundOf(10n ** 18n) }),
      rules: [{ ...rule, id: 'teams', maxCostWei: 1n }],
    });
    assert.ok(!isRefused(filler), 'a slot becomes free');
  });

  it('what a self-transfer needs where publishing is paid as gas is left for it', async (test) => {
    const needed = 300_000n;
    let isAway = false;
    const proxy = await startFakeNode(test, (request) => {
      const isEstimate = request.calls.some(({ method }) => method === 'eth_estimateGas');
      if (isEstimate && isAway) return { status: 503, body: '' };
      if (isEstimate) return answering(request, () => `0x${needed.toString(16)}`);
      return relayed(node.url, request);
    });
    const { chain } = openChain(test, [proxy.url], { tags: ['arbitrum'] });
    await chain.head();
    const freeing = (needed * 11n) / 10n;
    const content = { valueWei: 0n, gasLimit: 40_000n, pricing: legacy(10n * gwei) };
    const most = freeing * stepOver(10n * gwei);
    const refused = await drafted(chain, { ...content, maxCost: boundOf(most - 1n) });
    assert.ok(isRefused(refused) && refused.refused === 'above_max_cost');
    const taken = await drafted(chain, { ...content, maxCost: boundOf(most) });
    assert.ok(!isRefused(taken));
    const live = await signedAttempt(chain, 0n, { gasLimit: 40_000n, price: taken.price });
    const filler = await drafted(chain, 'filler', {
      outbids: [live],
      insteadOf: evmContent({ ...content, maxCost: boundOf(most) }),
      rules: [{ ...rule, id: 'teams', maxCostWei: most }],
    });
    assert.ok(
      !isRefused(filler),
      JSON.stringify(filler, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    );
    assert.equal(filler.gasLimit, freeing);
    isAway = true;
    await node.mine();
    await chain.head();
    const unknown = drafted(chain, { ...content, maxCost: boundOf(most) });
    await assert.rejects(unknown, { reason: 'NODE_UNAVAILABLE' }, 'what its slot may cost is not guessed');
  });

  it('an L1 fee that has risen since the signature keeps no slot occupied', async (test) => {
    const { chain } = openChain(test, [node.url], { tags: ['optimism'] });
    await chain.head();
    const signedFeeWei = 1_000n;
    const least = 23_100n * stepOver(11n * gwei) + signedFeeWei;
    const signed = await signedAttempt(chain, 0n, { gasLimit: 23_100n, price: eip1559(11n * gwei, gwei / 10n) });
    const live = { ...signed, fields: { ...signed.fields, publishingFeeWei: signedFeeWei } };
    const fillerIn = (maxWei: bigint) =>
      drafted(chain, 'filler', {
        outbids: [live],
        insteadOf: evmContent({ maxCost: boundOf(maxWei) }),
        rules: [{ ...rule, id: 'teams', maxCostWei: maxWei }],
      });
    const filler = await fillerIn(least);
    assert.ok(!isRefused(filler));
    assert.ok(filler.publishingFeeWei > signedFeeWei, 'the check of funds counts all of it');
    assert.ok(isRefused(await fillerIn(least - 1n)), 'the fee of then counts');
  });
});
