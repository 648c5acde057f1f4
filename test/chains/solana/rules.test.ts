import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { tokenPrograms } from '../../../src/chains/solana/account-changes.js';
import { computeBudgetProgram, systemProgram } from '../../../src/chains/solana/address.js';
import { compileInstructions } from '../../../src/chains/solana/instructions.js';
import { judge } from '../../../src/chains/solana/rules.js';
import type { Message } from '../../../src/chains/solana/wire.js';
import type { PartRule } from '../../../src/core/records/spending-rule.js';
import { partRuleProblems, ruleShapes } from '../../../src/core/rules/part-rule-problems.js';
import { anyKey, anyRules, type DescribedPart, expectedOf, shownOf } from '../../support/part-rules.js';
import { runs } from '../../support/runs.js';
import { solanaKey } from '../../support/solana.js';

const keyOf = (seed: number) => solanaKey(Buffer.alloc(32, seed)).address;
const [payer, other, alice, bob] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)];
const [mint, coin, memo, table] = [keyOf(5), keyOf(6), keyOf(7), keyOf(8)];
const [token = '', token2022 = ''] = tokenPrograms;

/** An instruction and what the page says about it; `hidden`: a lookup table holds its last account. */
interface Row {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Buffer;
  /** Null: it needs no rule. */
  readonly part: DescribedPart | null;
  readonly hidden?: true;
}

function bytes(...parts: readonly (number | bigint | string | Buffer)[]): Buffer {
  return Buffer.concat(
    parts.map((part) => {
      if (Buffer.isBuffer(part)) return part;
      if (typeof part === 'string') return Buffer.concat([bytes(BigInt(part.length)), Buffer.from(part)]);
      const number = Buffer.alloc(typeof part === 'bigint' ? 8 : 4);
      if (typeof part === 'bigint') number.writeBigUInt64LE(part);
      else number.writeUInt32LE(part);
      return number;
    }),
  );
}

const owner = Buffer.alloc(32, 9);

/** Every way in which an instruction could pay, with what rules see of it. */
function rowsOf(to: string, amount: bigint, from = payer): Readonly<Record<string, Row>> {
  const row = (program: string, accounts: readonly string[], data: Buffer, seen: Partial<DescribedPart>): Row => ({
    ...{ program, accounts, data },
    part: { kind: program, call: data.toString('hex'), receivers: [], paid: null, ...seen },
  });
  const native = { receivers: [to], paid: { asset: 'native', amount, known: true } };
  const tag = (number: number, ...parts: readonly (bigint | Buffer)[]) => Buffer.concat([Buffer.from([number]), bytes(...parts)]);
  const decimals = Buffer.from([6]);
  const checked = tag(12, amount, decimals);
  const of = (asset: string) => ({ receivers: [to], paid: { asset, amount, known: true } });
  const unread = { kind: null, call: null, receivers: [], paid: null };
  return {
    transfer: row(systemProgram, [from, to], bytes(2, amount), native),
    'account creation': row(systemProgram, [from, to], bytes(0, amount, 10n, owner), native),
    'account creation with a seed': row(systemProgram, [from, to, from], bytes(3, owner, 'seed', amount, 10n, owner), native),
    'transfer with a seed': row(systemProgram, [other, from, to], bytes(11, amount, 'seed', owner), native),
    'withdrawal of a nonce account': row(systemProgram, [other, to, from], bytes(5, amount), native),
    'creation of an account that has a balance': row(systemProgram, [to, from], bytes(13, amount, 10n, owner), {}),
    'transfer that is cut': row(systemProgram, [from, to], bytes(2), { receivers: [to] }),
    'token transfer with its mint': row(token, [other, mint, to, from], checked, of(mint)),
    'the same of Token-2022': row(token2022, [other, coin, to, from], checked, of(coin)),
    'the same, cut': row(token, [other, mint, to, from], checked.subarray(0, 9), { receivers: [to] }),
    'token transfer without a mint': row(token, [other, to, from], tag(3, amount), { receivers: [to] }),
    'closing of an account': row(token, [other, to, from], tag(9), { receivers: [to] }),
    'approval of a delegate': row(token, [other, to, from], tag(4, amount), {}),
    burning: row(token, [other, mint, from], tag(8, amount), {}),
    'transfer with a fee': row(token2022, [other, coin, to, from], tag(26, Buffer.from([1]), amount, decimals, 0n), {}),
    'batch of transfers': row(token, [other, mint, to, from], tag(255, Buffer.from([4, 10]), checked), {}),
    'a memo': row(memo, [from], Buffer.from('hello'), {}),
    'no data': row(memo, [from], Buffer.alloc(0), {}),
    'price of the compute budget': { ...row(computeBudgetProgram, [], Buffer.from([3, 1, 0, 0, 0, 0, 0, 0, 0]), {}), part: null },
    'transfer to what a table holds': { ...row(systemProgram, [from, to], bytes(2, amount), {}), part: unread, hidden: true },
    'token transfer to what a table holds': { ...row(token, [other, mint, to], checked, {}), part: unread, hidden: true },
  };
}

function messageOf(rows: readonly Row[]): Message {
  const instructions = rows.map(({ program, accounts, data }) => ({
    programId: program,
    accounts: accounts.map((pubkey) => ({ pubkey, isSigner: pubkey === payer, isWritable: true })),
    data: data.toString('base64'),
  }));
  const message = compileInstructions(payer, instructions);
  if (!rows.some(({ hidden }) => hidden)) return message;
  return {
    ...message,
    version: 0,
    tables: [{ table: table as Message['accounts'][number], writable: [0], readonly: [] }],
    instructions: message.instructions.map((one, index) =>
      rows[index]?.hidden === true ? { ...one, accounts: [...one.accounts.slice(0, -1), message.accounts.length] } : one,
    ),
  };
}

const any: PartRule = {
  ...{ id: 'any', effect: 'allow', kinds: null, calls: null, to: null, assets: null, maxAmount: null, apiKeyIds: null },
  limits: [],
};
const problemsOf = (rules: readonly PartRule[]) => partRuleProblems('rules', rules, ruleShapes.solana);
const judged = (rules: readonly PartRule[], rows: readonly Row[], key: string | null) => judge(rules, messageOf(rows), { apiKeyId: key });
const names = { sameAs: (text: string) => text, isCall: (named: string, call: string) => call.startsWith(named) };

const rows = [alice, bob].flatMap((to) =>
  [1n, 2n, 150n].flatMap((amount) => [payer, bob].flatMap((from) => Object.values(rowsOf(to, amount, from)))),
);
const rules = anyRules({
  kinds: [systemProgram, token, token2022, memo],
  calls: ['02000000', '02', '00', '03000000', '0c', '03', '68656c6c'],
  to: [alice, bob],
  assets: ['native', mint, coin],
});

describe('rules on a Solana network', () => {
  it('judge random rules and instructions as an evaluator does that shares no code with them', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(rules, fc.array(fc.constantFrom(...rows), { minLength: 1, maxLength: 2 }), anyKey, (all, sent, key) => {
        const usable = all.filter((one) => problemsOf([one]).length === 0);
        fc.pre(usable.length > 0);
        const found = shownOf(judged(usable, sent, key), key);
        const [kind = ''] = found.split(' ');
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
        if (found.includes(': ') && !found.endsWith(': ')) seen.set('counted', (seen.get('counted') ?? 0) + 1);
        const parts = sent.flatMap(({ part }) => part ?? []);
        const nothing: DescribedPart = { kind: null, call: null, receivers: [], paid: null };
        assert.equal(found, expectedOf(usable, parts.length === 0 ? [nothing] : parts, key, names));
        // What was accepted is not denied later, when its key is not known.
        if (kind === 'allow') assert.equal(judge(usable, messageOf(sent), null).verdict, 'allow');
      }),
      { numRuns: runs(8_000) },
    );
    for (const kind of ['allow', 'deny', 'counted']) assert.ok((seen.get(kind) ?? 0) > 50, `${kind}: ${seen.get(kind)}`);
  });

  it('each instruction that could walk past a limit is counted against it, or refused by its rule', () => {
    const payouts: PartRule = {
      ...any,
      id: 'payouts',
      limits: ['native', mint, coin].map((asset) => ({ asset, amount: 5n, windowMs: 60_000, per: 'relayer' })),
    };
    const verdicts = Object.entries(rowsOf(alice, 9n)).map(([name, row]) => {
      const judgement = judged([payouts], [row], null);
      return [
        name,
        judgement?.verdict === 'allow' ? judgement.spends.map(({ limit, amount }) => `${amount} ${limit.asset}`).join() : 'refused',
      ];
    });
    assert.deepEqual(Object.fromEntries(verdicts), {
      transfer: '9 native',
      'account creation': '9 native',
      'account creation with a seed': '9 native',
      'transfer with a seed': '9 native',
      'withdrawal of a nonce account': '9 native',
      'creation of an account that has a balance': 'refused',
      'transfer that is cut': 'refused',
      'token transfer with its mint': `9 ${mint}`,
      'the same of Token-2022': `9 ${coin}`,
      'the same, cut': 'refused',
      'token transfer without a mint': 'refused',
      'closing of an account': 'refused',
      'approval of a delegate': 'refused',
      burning: 'refused',
      'transfer with a fee': 'refused',
      'batch of transfers': 'refused',
      'a memo': 'refused',
      'no data': 'refused',
      'price of the compute budget': 'refused',
      'transfer to what a table holds': 'refused',
      'token transfer to what a table holds': 'refused',
    });
    const { transfer, 'price of the compute budget': price, 'a memo': note } = rowsOf(alice, 2n);
    if (transfer === undefined || price === undefined || note === undefined) assert.fail();
    const twice = judged([payouts], [price, transfer, transfer], null);
    assert.deepEqual(twice?.verdict === 'allow' && twice.spends.map(({ amount }) => amount), [4n]);
    const noted = judged([payouts], [transfer, note], null);
    assert.deepEqual(
      noted?.verdict === 'deny' && `${noted.field} ${noted.description}`,
      'instructions[1] is allowed by no rule of the relayer; the closest, payouts, is not for its asset',
    );
    assert.equal(judged([payouts, { ...any, kinds: [memo] }], [transfer, note], null)?.verdict, 'allow');
  });

  it('a rule can count the programs whose instructions are read', () => {
    assert.deepEqual([...ruleShapes.solana.counted.keys()], [systemProgram, ...tokenPrograms]);
  });

  it('a rule that can never count what it limits is refused at the change', () => {
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
      [{ limits: [limitOf('USD:GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H')] }, /asset must be native, or the mint/],
    ];
    for (const [changes, expected] of changed) {
      const found = problemsOf([{ ...any, ...changes }]).map(({ field, description }) => `${field} ${description}`);
      if (expected === null) assert.deepEqual(found, []);
      else assert.match(found.join('; '), expected);
    }
  });
});
