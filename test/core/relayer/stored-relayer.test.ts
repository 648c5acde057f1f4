import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { SecretBox } from '../../../src/core/ports/secret-box.js';
import type { EvmRule, RuleApprovals } from '../../../src/core/records/spending-rule.js';
import { definitionFromRelayer, storedRelayerFrom } from '../../../src/core/relayer/stored-relayer.js';
import { evmRelayer } from '../../support/evm.js';

const secretBox = { seal: String, open: String } as unknown as SecretBox;
/** A rule as the first version stored it. */
const payouts: Omit<EvmRule, keyof RuleApprovals | 'maxCostWei' | 'typedData' | 'deadlineField'> = {
  ...{ id: 'payouts', effect: 'allow', to: null, functions: null, arguments: [], maxValueWei: 5n, apiKeyIds: null, limits: [] },
};

it('stored relayer: what an earlier version stored has the defaults of what is newer, in policies and in rules', () => {
  const rules = [{ ...payouts, maxCostWei: null, typedData: null, deadlineField: null, approvals: null, approvalMs: null }];
  const relayer = evmRelayer('0xA', { rules });
  const { content, ...definition } = definitionFromRelayer(secretBox, relayer);
  const stored = (policies: object) => storedRelayerFrom(secretBox, { ...definition, content: { ...content, policies } }).policies;
  assert.deepEqual(stored(relayer.policies), relayer.policies);
  const { signing: _, ...older } = relayer.policies as typeof relayer.policies & { readonly signing?: unknown };
  assert.deepEqual(stored({ ...older, rules: [payouts] }), relayer.policies);
  assert.equal(stored({ network: 'evm' }).rules, null);
  const asking: readonly EvmRule[] = [
    { ...payouts, maxCostWei: 7n, typedData: null, deadlineField: null, effect: 'approve', approvals: 3, approvalMs: 60_000 },
  ];
  assert.deepEqual(stored({ ...relayer.policies, rules: asking }).rules, asking);
});
