import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { solanaDialect } from '../../../src/chains/solana/dialect.js';
import { compileInstructions } from '../../../src/chains/solana/instructions.js';
import { simulate } from '../../../src/chains/solana/simulate.js';
import { rememberingLog } from '../../support/evm.js';
import { answering, FakeError, startFakeNode } from '../../support/fake-node.js';
import { solanaKey, solanaNetwork, solanaRelayer, transferInstruction } from '../../support/solana.js';

const relayer = solanaRelayer(solanaKey().address);
const account = relayer.address;
const genesis = solanaKey().address;
const other = solanaKey().address;
const systemProgram = '11111111111111111111111111111111';
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const passing = { err: null, logs: [], unitsConsumed: 1, accounts: null, innerInstructions: null };
const failing = { ...passing, err: { InstructionError: [0, { Custom: 1 }] } };

const memo = { program: 'spl-memo', programId: other, parsed: 'hello', stackHeight: 2 };

function parsed(program: string, type: string, info: object): object {
  return { program: 'p', programId: program, parsed: { type, info }, stackHeight: 2 };
}

function calls(...instructions: readonly object[]): object {
  return { ...passing, innerInstructions: [{ index: 0, instructions: [memo, ...instructions] }] };
}

/** Simulates at nodes that answer with these values, in order of their weights; an error is one about the node. */
async function simulated(test: TestContext, ...values: readonly unknown[]) {
  const network = solanaNetwork();
  const nodes = await Promise.all(
    values.map((value) =>
      startFakeNode(test, (request) =>
        answering(request, ({ method }) => {
          if (method === 'getGenesisHash') return genesis;
          return value instanceof FakeError ? value : { context: { slot: 7 }, value };
        }),
      ),
    ),
  );
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
  const rpc = createRpc({ network, rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, solanaDialect);
  test.after(() => rpc.close());
  const message = compileInstructions(account, [transferInstruction(account, other, 5n)]);
  return simulate(rpc, { message, slot: 1n, relayer, isDeniedLong: () => false });
}

it('simulation: the lasting refusal of one node fails nothing if another node says otherwise or does not answer', async (test) => {
  const lastingOf = (answer: object) => ('lasting' in answer ? [answer.lasting, 'isDoubted' in answer && answer.isDoubted] : 'passes');
  assert.deepEqual(lastingOf(await simulated(test, failing)), [true, false], 'one node only');
  assert.deepEqual(lastingOf(await simulated(test, failing, failing)), [true, false]);
  assert.deepEqual(lastingOf(await simulated(test, failing, passing)), 'passes');
  assert.deepEqual(lastingOf(await simulated(test, failing, new FakeError(-32016, 'Minimum context slot has not been reached'))), [
    false,
    true,
  ]);
});

it('simulation: shows what the calls of programs, and the transaction as a whole, take from the account', async (test) => {
  const raw = (program: string, accounts: readonly string[], data: string) => ({ programId: program, accounts, data, stackHeight: 3 });
  const left = (owner: string, data: string) => ({
    ...passing,
    accounts: [{ lamports: 5, owner, data: [data, 'base64'], executable: false }],
  });
  for (const [value, change] of [
    [passing, null],
    [calls(parsed(systemProgram, 'transfer', { source: account, destination: other })), null],
    [calls(parsed(systemProgram, 'createAccount', { source: account, newAccount: other })), null],
    [calls(parsed(systemProgram, 'assign', { account, owner: other })), 'assign'],
    [calls(parsed(tokenProgram, 'approve', { source: other, delegate: other, owner: account })), 'token_delegate'],
    [calls(parsed(tokenProgram, 'initializeAccount3', { account: other, owner: account })), null],
    // "5" is the byte 4, and "8" is 7: Approve and MintTo of the token program.
    [calls(raw(tokenProgram, [other, other, account], '5')), 'token_delegate'],
    [calls(raw(tokenProgram, [other, other, account], '8')), null],
    // A batch of the token programs can begin with calls that take nothing.
    [calls(raw(tokenProgram, [other, other, account], '1'.repeat(2_001))), 'unknown'],
    [calls(raw(tokenProgram, [other, other, other], '1'.repeat(2_001))), null],
    [calls(raw(other, [other, other, account], '1'.repeat(2_001))), null],
    [calls(raw(tokenProgram, [other, other, account], 'A')), 'token_close'],
    [calls(raw(tokenProgram, [other, account, account], 'A')), null],
    [left(systemProgram, ''), null],
    [left(other, ''), 'assign'],
    [left(systemProgram, 'AAAA'), 'allocate'],
  ] as const) {
    const answer = await simulated(test, value);
    const shown = 'refused' in answer ? /\((\w+)\)/.exec(answer.sentence)?.[1] : null;
    assert.equal(shown, change, JSON.stringify(value));
    if ('refused' in answer) assert.deepEqual([answer.refused, answer.lasting], ['not_allowed', true]);
  }
});

it('simulation: a change that one node alone shows does not end the transaction, and never if another node shows none', async (test) => {
  const taking = calls(parsed(systemProgram, 'assign', { account, owner: other }));
  for (const second of [failing, new FakeError(-32016, 'Minimum context slot has not been reached')]) {
    const answer = await simulated(test, taking, second);
    assert.ok('refused' in answer && answer.refused === 'not_allowed' && !answer.lasting && answer.isDoubted === true);
  }
  // A doubted refusal ends the transaction after a while.
  const contradicted = await simulated(test, taking, passing);
  assert.ok('refused' in contradicted && contradicted.refused === 'not_allowed' && !contradicted.lasting && !contradicted.isDoubted);
});
