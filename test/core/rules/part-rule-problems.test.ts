import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Asset, Keypair } from '@stellar/stellar-sdk';
import type { PartRule } from '../../../src/core/records/spending-rule.js';
import { partRuleProblems, ruleShapes } from '../../../src/core/rules/part-rule-problems.js';
import { solanaKey } from '../../support/solana.js';

const any: PartRule = {
  ...{ id: 'any', effect: 'allow', kinds: null, calls: null, to: null, assets: null, maxAmount: null, maxCost: null, apiKeyIds: null },
  limits: [],
  approvals: null,
  approvalMs: null,
};

describe('the check of rules on Solana', () => {
  const keyOf = (seed: number) => solanaKey(Buffer.alloc(32, seed)).address;
  const [other, alice, mint] = [keyOf(2), keyOf(3), keyOf(5)];
  const [systemProgram, token] = ['11111111111111111111111111111111', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'];
  const memo = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
  const computeBudgetProgram = 'ComputeBudget111111111111111111111111111111';

  it('check of rules on Solana: refuses a rule that can never count what it limits', () => {
    const limitOf = (asset: string) => ({ asset, amount: 5n, windowMs: 60_000, per: 'relayer' as const });
    const changed: readonly (readonly [Partial<PartRule>, RegExp | null])[] = [
      [{ limits: [limitOf('native'), limitOf(mint)] }, null],
      [{ limits: [limitOf(mint)], kinds: [token], calls: ['0c'], assets: [mint] }, null],
      [{ limits: [limitOf('native')], calls: ['02'] }, null],
      [
        { limits: [limitOf('native')], calls: ['0c'] },
        /^rules\[0\]\.limits\[0\]\.asset is native, which nothing pays that the rule is for$/,
      ],
      [
        { limits: [limitOf(mint)], kinds: [systemProgram] },
        /^rules\[0\]\.limits\[0\]\.asset is .*, which nothing pays that the rule is for$/,
      ],
      [{ limits: [limitOf('native')], kinds: [systemProgram, memo] }, /^rules\[0\]\.programs\[1\] is .*, whose amount a rule cannot read/],
      [{ maxAmount: 1n, kinds: [token], calls: ['03'] }, /^rules\[0\]\.discriminators\[0\] is 03, whose amount a rule cannot read/],
      [{ effect: 'deny', kinds: [memo], to: [alice] }, /^rules\[0\]\.to is for receivers, which nothing in programs has$/],
      [
        { kinds: [systemProgram], calls: ['04000000'], to: [alice] },
        /^rules\[0\]\.to is for receivers, which nothing has that the rule is for$/,
      ],
      [{ effect: 'deny', kinds: [systemProgram], calls: ['04000000'], to: [alice] }, null],
      [
        { effect: 'deny', kinds: [systemProgram], assets: [mint] },
        /^rules\[0\]\.assets\[0\] is .*, which nothing pays that the rule is for$/,
      ],
      [{ kinds: [token], assets: ['native'] }, /^rules\[0\]\.assets\[0\] is native, which nothing pays that the rule is for$/],
      [{ effect: 'deny', kinds: [computeBudgetProgram] }, /^rules\[0\]\.programs\[0\] is ComputeBudget.*, which needs no rule$/],
      [{ effect: 'deny', maxAmount: 10n }, /^rules\[0\]\.max_value cannot be in a rule that denies/],
      [{ maxCost: 5n, limits: [limitOf('cost'), limitOf('fee')], kinds: [systemProgram, token, memo] }, null],
      [{ maxCost: 5n, limits: [limitOf('fee')], kinds: [other] }, null],
      [{ maxCost: 5n, limits: [limitOf('cost')], kinds: [other] }, /^rules\[0\]\.programs\[0\] is .*, whose cost a rule cannot read/],
      [{ limits: [limitOf('cost')] }, /^rules\[0\]\.limits\[0\]\.asset is cost, which needs max_cost in the rule/],
      [{ effect: 'deny', maxCost: 1n }, /^rules\[0\]\.max_cost cannot be in a rule that denies/],
      [{ limits: [limitOf('USD:GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H')] }, /asset must be native, or the mint/],
    ];
    for (const [changes, expected] of changed) {
      const found = partRuleProblems('rules', [{ ...any, ...changes }], ruleShapes.solana).map(
        ({ field, description }) => `${field} ${description}`,
      );
      if (expected === null) assert.deepEqual(found, []);
      else assert.match(found.join('; '), expected);
    }
  });
});

describe('the check of rules on Stellar', () => {
  const accountOf = (seed: number) => Keypair.fromRawEd25519Seed(Buffer.alloc(32, seed)).publicKey();
  const [alice, issuer] = [accountOf(3), accountOf(5)];
  const token = new Asset('TOKEN', issuer).contractId('another network');
  /** Its last character is another one. */
  const wrong = `${alice.slice(0, -1)}${alice.endsWith('A') ? 'B' : 'A'}`;

  it('check of rules on Stellar: refuses a rule that can never count what it limits', () => {
    const limitOf = (asset: string) => ({ asset, amount: 5n, windowMs: 60_000, per: 'relayer' as const });
    const changed: readonly (readonly [Partial<PartRule>, RegExp | null])[] = [
      [{ limits: [limitOf('native')] }, null],
      [{ limits: [limitOf(token)], kinds: ['invoke_contract'], calls: ['transfer'], assets: [token] }, null],
      [
        { limits: [limitOf('native')], assets: [token] },
        /^rules\[0\]\.limits\[0\]\.asset is native, which the rule does not have in assets$/,
      ],
      [
        { limits: [limitOf(token)], kinds: ['create_account'] },
        /^rules\[0\]\.limits\[0\]\.asset is C.*, which nothing pays that the rule is for$/,
      ],
      [
        { limits: [limitOf('native')], kinds: ['payment', 'manage_sell_offer'] },
        /^rules\[0\]\.operations\[1\] is manage_sell_offer, whose amount/,
      ],
      [{ maxAmount: 1n, kinds: ['set_options'] }, /^rules\[0\]\.operations\[0\] is set_options, whose amount/],
      [{ assets: ['native'], calls: ['approve'] }, /^rules\[0\]\.functions\[0\] is approve, whose amount/],
      [{ calls: ['transfer'], kinds: ['payment'] }, /^rules\[0\]\.functions needs invoke_contract in operations$/],
      [{ limits: [limitOf('So11111111111111111111111111111111111111112')] }, /^rules\[0\]\.limits\[0\]\.asset must be native, CODE:ISSUER/],
      [{ effect: 'deny', to: [wrong] }, /^rules\[0\]\.to\[0\] has a wrong checksum$/],
      [{ effect: 'deny', assets: [`USD:${wrong}`] }, /^rules\[0\]\.assets\[0\] has a wrong checksum$/],
      [{ limits: [limitOf(`USD:${wrong}`)] }, /^rules\[0\]\.limits\[0\]\.asset has a wrong checksum$/],
      [{ effect: 'deny', kinds: ['create_account'], assets: [`USD:${issuer}`] }, /^rules\[0\]\.assets\[0\] is USD:.*, which nothing pays/],
      [
        { effect: 'deny', kinds: ['manage_data', 'clawback'], to: [alice] },
        /^rules\[0\]\.to is for receivers, which nothing in operations has$/,
      ],
      [{ kinds: ['manage_sell_offer'], to: [alice] }, /^rules\[0\]\.to is for receivers, which nothing has that the rule is for$/],
      [{ effect: 'deny', kinds: ['manage_sell_offer'], to: [alice] }, null],
      [{ kinds: ['payment', 'invoke_contract'], calls: ['work'] }, /^rules\[0\]\.operations\[0\] is payment, which has no functions/],
      [{ kinds: ['payment'], to: [token] }, /^rules\[0\]\.to\[0\] is a contract, which needs invoke_contract in operations$/],
      [{ kinds: ['invoke_contract'], to: [alice] }, /^rules\[0\]\.to has no contract, without which no invoke_contract is allowed$/],
      [{ effect: 'deny', kinds: ['invoke_contract'], to: [alice] }, null],
      [{ kinds: ['create_claimable_balance'], assets: [`USD:${issuer}`] }, /^rules\[0\]\.assets needs native, too/],
      [{ kinds: ['create_claimable_balance'], limits: [limitOf(`USD:${issuer}`)] }, /^rules\[0\]\.limits needs native, too/],
      [{ kinds: ['create_claimable_balance'], limits: [limitOf(`USD:${issuer}`), limitOf('native')] }, null],
      [{ effect: 'deny', maxAmount: 10n }, /^rules\[0\]\.max_value cannot be in a rule that denies: allow up to/],
      [{ maxCost: 5n, limits: [limitOf('cost'), limitOf('fee')] }, null],
      [{ maxCost: 5n, limits: [limitOf('fee')], kinds: ['manage_sell_offer', 'set_options'] }, null],
      [{ maxCost: 5n, limits: [limitOf('cost')], kinds: ['payment', 'set_options', 'invoke_contract'] }, null],
      [{ maxCost: 5n, limits: [limitOf('cost')], kinds: ['manage_sell_offer'] }, /operations\[0\] is manage_sell_offer, whose cost a rule/],
      [
        { maxCost: 5n, limits: [limitOf('cost')], kinds: ['invoke_contract'], calls: ['work'] },
        /operations\[0\] is invoke_contract, whose cost a rule cannot read/,
      ],
      [{ maxCost: 6n, limits: [limitOf('cost')] }, /^rules\[0\]\.limits\[0\]\.amount must be at least max_cost/],
      [{ limits: [limitOf('fee')] }, /^rules\[0\]\.limits\[0\]\.asset is fee, which needs max_cost in the rule/],
      [{ maxCost: 0n }, /^rules\[0\]\.max_cost must be at least 1/],
      [{ effect: 'deny', maxCost: 1n }, /^rules\[0\]\.max_cost cannot be in a rule that denies/],
      [{ assets: ['cost'] }, /^rules\[0\]\.assets\[0\] must be native, CODE:ISSUER/],
      [{ maxAmount: 0n, limits: [limitOf('native')] }, /^rules\[0\]\.limits\[0\] counts nothing, since max_value is 0$/],
      [{ effect: 'deny', limits: [limitOf('native')] }, /^rules\[0\]\.limits\[0\] cannot be in a rule that denies$/],
      [{ effect: null }, /^rules\[0\]\.effect is required$/],
      [{ assets: [] }, /^rules\[0\]\.assets must not be empty/],
      [{ limits: [limitOf('native'), limitOf('native')] }, /^rules\[0\]\.limits\[1\] counts the same in the same time as limits\[0\]$/],
    ];
    for (const [changes, expected] of changed) {
      const found = partRuleProblems('rules', [{ ...any, ...changes }], ruleShapes.stellar).map(
        ({ field, description }) => `${field} ${description}`,
      );
      if (expected === null) assert.deepEqual(found, []);
      else assert.match(found.join('; '), expected);
    }
  });
});
