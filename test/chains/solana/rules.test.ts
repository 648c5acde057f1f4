import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { tokenPrograms } from '../../../src/chains/solana/account-changes.js';
import { computeBudgetProgram, systemProgram } from '../../../src/chains/solana/address.js';
import { compileInstructions } from '../../../src/chains/solana/instructions.js';
import { costsOf, judge } from '../../../src/chains/solana/rules.js';
import type { Message } from '../../../src/chains/solana/wire.js';
import { forbiddenByRules } from '../../../src/core/ports/chain/drafts.js';
import type { PartRule } from '../../../src/core/records/spending-rule.js';
import { partRuleProblems, ruleShapes } from '../../../src/core/rules/part-rule-problems.js';
import { anyKey, anyRules, type DescribedPart, expectedOf, nothing, shownOf } from '../../support/part-rules.js';
import { runs } from '../../support/runs.js';
import { solanaKey } from '../../support/solana.js';

const keyOf = (seed: number) => solanaKey(Buffer.alloc(32, seed)).address;
const [payer, other, alice, bob] = [keyOf(1), keyOf(2), keyOf(3), keyOf(4)];
const [mint, coin, memo, table] = [keyOf(5), keyOf(6), 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr', keyOf(8)];
const [token = '', token2022 = ''] = tokenPrograms;

/** An instruction and what the page says about it; `hidden`: a lookup table holds this one of its accounts; true: the last. */
interface Row {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Buffer;
  /** Null: it needs no rule. */
  readonly part: DescribedPart | null;
  readonly hidden?: true | number;
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
    part: { ...nothing, kind: program, call: data.toString('hex'), ...seen },
  });
  const lamports = [{ asset: 'native', amount, known: true }];
  const native = { receivers: [to], paid: lamports };
  const tag = (number: number, ...parts: readonly (bigint | Buffer)[]) => Buffer.concat([Buffer.from([number]), bytes(...parts)]);
  const decimals = Buffer.from([6]);
  const checked = tag(12, amount, decimals);
  const of = (asset: string, known = true) => ({ receivers: [to], paid: [{ asset, amount, known }] });
  const dark = (accounts: readonly string[]) => ({ mayPay: accounts, paid: null });
  const held = { receivers: [], mayPay: null };
  return {
    transfer: row(systemProgram, [from, to], bytes(2, amount), native),
    'transfer with an account more': row(systemProgram, [from, to, other], bytes(2, amount), native),
    'account creation': row(systemProgram, [from, to], bytes(0, amount, 10n, owner), native),
    'account creation with a seed': row(systemProgram, [from, to, from], bytes(3, owner, 'seed', amount, 10n, owner), native),
    'transfer with a seed': row(systemProgram, [other, from, to], bytes(11, amount, 'seed', owner), native),
    'withdrawal of a nonce account': row(systemProgram, [other, to, from], bytes(5, amount), native),
    'creation of an account that has a balance': row(systemProgram, [to, from], bytes(13, amount, 10n, owner), native),
    'transfer that is cut': row(systemProgram, [from, to], bytes(2), { receivers: [to], paid: null }),
    'use of a nonce account': row(systemProgram, [to, other, from], bytes(4), {}),
    'instruction of a later system program': row(systemProgram, [from, to], bytes(14, amount), dark([from, to])),
    'token transfer with its mint': row(token, [other, mint, to, from], checked, of(mint)),
    'the same of Token-2022': row(token2022, [other, coin, to, from], checked, of(coin, false)),
    'the same with accounts for a hook': row(token2022, [other, coin, to, from, bob], checked, {
      ...of(coin, false),
      mayPay: [other, coin, to, from, bob],
    }),
    'the same, cut': row(token, [other, mint, to, from], checked.subarray(0, 9), { receivers: [to], paid: null }),
    'token transfer without a mint': row(token, [other, to, from], tag(3, amount), { receivers: [to], paid: null }),
    'closing of an account': row(token, [other, to, from], tag(9), { receivers: [to], paid: null }),
    'approval of a delegate': row(token, [other, to, from], tag(4, amount), dark([other, to, from])),
    burning: row(token, [other, mint, from], tag(8, amount), dark([other, mint, from])),
    'transfer with a fee': row(
      token2022,
      [other, coin, to, from],
      tag(26, Buffer.from([1]), amount, decimals, 0n),
      dark([other, coin, to, from]),
    ),
    'batch of transfers': row(token, [other, mint, to, from], tag(255, Buffer.from([4, 10]), checked), dark([other, mint, to, from])),
    'an unknown program': row(other, [from, to], Buffer.from('hello'), dark([from, to])),
    'a memo': row(memo, [from], Buffer.from('hello'), {}),
    'no data': row(memo, [from], Buffer.alloc(0), {}),
    'price of the compute budget': { ...row(computeBudgetProgram, [], Buffer.from([3, 1, 0, 0, 0, 0, 0, 0, 0]), {}), part: null },
    'transfer to what a table holds': { ...row(systemProgram, [from, to], bytes(2, amount), { ...held, paid: lamports }), hidden: true },
    'token transfer to what a table holds': {
      ...row(token, [other, mint, to, from], checked, { ...held, paid: of(mint).paid }),
      hidden: 2,
    },
    'token transfer of what a table holds': {
      ...row(token, [other, mint, to, from], checked, { receivers: [to], paid: null }),
      hidden: 1,
    },
    'an unknown program with what a table holds': {
      ...row(other, [from, to], Buffer.from('x'), { mayPay: null, paid: null }),
      hidden: true,
    },
  };
}

function messageOf(rows: readonly Row[]): Message {
  const instructions = rows.map(({ program, accounts, data }) => ({
    programId: program,
    accounts: accounts.map((pubkey) => ({ pubkey, isSigner: pubkey === payer, isWritable: true })),
    data: data.toString('base64'),
  }));
  const message = compileInstructions(payer, instructions);
  if (rows.every(({ hidden }) => hidden === undefined)) return message;
  return {
    ...message,
    version: 0,
    tables: [{ table: table as Message['accounts'][number], writable: [0], readonly: [] }],
    instructions: message.instructions.map((one, index) =>
      rows[index]?.hidden === undefined ? one : { ...one, accounts: hide(one.accounts, rows[index].hidden, message.accounts.length) },
    ),
  };
}

function hide(accounts: readonly number[], which: true | number, table: number): readonly number[] {
  return accounts.with(which === true ? -1 : which, table);
}

const any: PartRule = {
  ...{ id: 'any', effect: 'allow', kinds: null, calls: null, to: null, assets: null, maxAmount: null, maxCost: null, apiKeyIds: null },
  limits: [],
  approvals: null,
  approvalMs: null,
};
const problemsOf = (rules: readonly PartRule[]) => partRuleProblems('rules', rules, ruleShapes.solana);
const judged = (rules: readonly PartRule[], rows: readonly Row[], key: string | null) => judge(rules, messageOf(rows), { apiKeyId: key });
const names = { sameAs: (text: string) => text, isCall: (named: string, call: string) => call.startsWith(named) };

const rows = [alice, bob].flatMap((to) =>
  [1n, 2n, 150n].flatMap((amount) => [payer, bob].flatMap((from) => Object.values(rowsOf(to, amount, from)))),
);
const rules = anyRules({
  kinds: [systemProgram, token, token2022, memo, other],
  calls: ['02000000', '02', '00', '03000000', '0c', '03', '68656c6c'],
  to: [alice, bob],
  assets: ['native', mint, coin],
  costs: [5_000n, 5_001n, 5_002n, 5_151n, 5_400n],
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
        // A signature, and the price that some name, of less than a lamport.
        const leastFee = sent.some((one) => one.part === null) ? 5_001n : 5_000n;
        const described = parts.length === 0 ? [{ ...nothing, kind: computeBudgetProgram }] : parts;
        assert.equal(found, expectedOf(usable, described, key, { ...names, leastFee }));
        const judgement = judged(usable, sent, key);
        const stored = judgement?.verdict === 'allow' ? judgement.maxCost : undefined;
        const approvals = kind === 'approve' ? Number(found.split(' ')[1]) : 0;
        // Whose keys it was is not known any more: its maximum stays.
        if (stored !== undefined) assert.deepEqual(costsOf(messageOf(sent), { rules: usable, stored, approvals }).bound, stored);
        // What was accepted is not denied later, when its key is not known.
        if (kind === 'allow') assert.equal(forbiddenByRules(judge(usable, messageOf(sent), null), 0), null);
        if (kind === 'approve')
          assert.equal(forbiddenByRules(judge(usable, messageOf(sent), 'approved'), Number(found.split(' ')[1])), null);
      }),
      { numRuns: runs(8_000) },
    );
    for (const kind of ['allow', 'deny', 'approve', 'counted']) assert.ok((seen.get(kind) ?? 0) > 50, `${kind}: ${seen.get(kind)}`);
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
      'transfer with an account more': '9 native',
      'account creation': '9 native',
      'account creation with a seed': '9 native',
      'transfer with a seed': '9 native',
      'withdrawal of a nonce account': '9 native',
      'creation of an account that has a balance': '9 native',
      'transfer that is cut': 'refused',
      'use of a nonce account': 'refused',
      'instruction of a later system program': 'refused',
      'token transfer with its mint': `9 ${mint}`,
      'the same of Token-2022': `9 ${coin}`,
      'the same with accounts for a hook': `9 ${coin}`,
      'the same, cut': 'refused',
      'token transfer without a mint': 'refused',
      'closing of an account': 'refused',
      'approval of a delegate': 'refused',
      burning: 'refused',
      'transfer with a fee': 'refused',
      'batch of transfers': 'refused',
      'an unknown program': 'refused',
      'a memo': 'refused',
      'no data': 'refused',
      'price of the compute budget': 'refused',
      'transfer to what a table holds': '9 native',
      'token transfer to what a table holds': `9 ${mint}`,
      'token transfer of what a table holds': 'refused',
      'an unknown program with what a table holds': 'refused',
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

  it('nothing that a rule cannot read walks past one that denies, and a hook is in no limit that does not name its mint', () => {
    const verdict = (rules: readonly PartRule[], name: string) => judged(rules, [rowsOf(alice, 9n)[name] ?? assert.fail()], null)?.verdict;
    const denied = (rule: Partial<PartRule>, name: string) => verdict([{ ...any, id: 'never', effect: 'deny', ...rule }, any], name);
    const hidden = ['transfer to what a table holds', 'token transfer to what a table holds', 'an unknown program with what a table holds'];
    for (const name of [...hidden, 'batch of transfers', 'transfer with a fee', 'creation of an account that has a balance'])
      assert.equal(denied({ to: [alice] }, name), 'deny', name);
    for (const name of hidden) assert.equal(denied({ to: [bob] }, name), 'deny', name);
    for (const name of ['transfer', 'an unknown program', 'a memo']) assert.equal(denied({ to: [bob] }, name), 'allow', name);
    for (const name of ['transfer to what a table holds', 'transfer']) assert.equal(denied({ kinds: [systemProgram] }, name), 'deny', name);
    for (const name of ['token transfer without a mint', 'batch of transfers', 'an unknown program', 'the same of Token-2022'])
      assert.equal(denied({ assets: [mint] }, name), 'deny', name);
    for (const name of ['transfer', 'a memo']) assert.equal(denied({ assets: [mint] }, name), 'allow', name);

    const small: PartRule = { ...any, kinds: [token2022], maxAmount: 9n };
    assert.equal(verdict([small], 'the same of Token-2022'), 'deny', 'its mint may have a program of its own');
    assert.equal(verdict([{ ...small, assets: [coin] }], 'the same of Token-2022'), 'allow');
    assert.equal(verdict([{ ...any, kinds: [token], maxAmount: 9n }], 'token transfer with its mint'), 'allow');
  });

  it('a rule can count the programs whose instructions are read', () => {
    assert.deepEqual([...ruleShapes.solana.counted.keys()], [systemProgram, ...tokenPrograms]);
  });
});
