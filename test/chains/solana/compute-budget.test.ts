import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address } from '@solana/kit';
import { computeBudgetProgram } from '../../../src/chains/solana/address.js';
import { computeBudgetOf, priorityFeeLamports, unitLimitOf, withComputeBudget } from '../../../src/chains/solana/compute-budget.js';
import { compileInstructions } from '../../../src/chains/solana/instructions.js';
import { type Message, transactionFromBytes, unsignedTransactionBytes } from '../../../src/chains/solana/wire.js';
import { solanaKey, transferInstruction } from '../../support/solana.js';

const payer = solanaKey().address;
const transfer = compileInstructions(payer, [transferInstruction(payer, solanaKey().address, 5n)]);
const both = { unitLimit: 1_000, unitPriceMicroLamports: 2n ** 63n };

function budgeted(message: Message, budget: Parameters<typeof withComputeBudget>[1] = both): Message {
  const found = withComputeBudget(message, budget, 1232);
  assert.ok(found !== null);
  return found;
}

describe('compute budget', () => {
  it('compute budget: is added at the end and read back unchanged', () => {
    const message = budgeted(transfer);
    assert.deepEqual(computeBudgetOf(message), both);
    assert.deepEqual(message.instructions[0], transfer.instructions[0]);
    assert.equal(message.instructions.length, 3);
    assert.deepEqual(transactionFromBytes(unsignedTransactionBytes(message)).message, message);
    assert.deepEqual(computeBudgetOf(transfer), { unitLimit: null, unitPriceMicroLamports: null });
  });

  it('compute budget: is completed without listing its program twice', () => {
    const limited = budgeted(transfer, { unitLimit: 7, unitPriceMicroLamports: null });
    const message = budgeted(limited, { unitLimit: null, unitPriceMicroLamports: 9n });
    assert.deepEqual(computeBudgetOf(message), { unitLimit: 7, unitPriceMicroLamports: 9n });
    assert.equal(message.accounts.filter((account) => account === computeBudgetProgram).length, 1);
    assert.equal(message.readonlyOthers, transfer.readonlyOthers + 1);
  });

  it('compute budget: shifts the indexes of accounts in lookup tables', () => {
    const table = address(solanaKey().address);
    const message: Message = {
      ...transfer,
      version: 0,
      instructions: [{ program: 2, accounts: [0, 3, 4], data: new Uint8Array() }],
      tables: [{ table, writable: [1], readonly: [2] }],
    };
    assert.deepEqual(budgeted(message).instructions[0]?.accounts, [0, 4, 5]);
  });

  it('compute budget: is omitted if it does not fit', () => {
    const size = unsignedTransactionBytes(budgeted(transfer)).length;
    assert.ok(withComputeBudget(transfer, both, size) !== null);
    assert.equal(withComputeBudget(transfer, both, size - 1), null);
    const many: Message = {
      ...transfer,
      instructions: Array.from({ length: 63 }, () => ({ program: 2, accounts: [], data: new Uint8Array() })),
    };
    assert.equal(withComputeBudget(many, both, 1232), null);
  });

  it('compute budget: has a default limit of 3,000 units per instruction of a builtin program, 200,000 per other one, and at most 1,400,000', () => {
    const of = (message: Message): number => unitLimitOf(message, computeBudgetOf(message));
    const program = address(solanaKey().address);
    const times = (count: number): Message => ({
      ...transfer,
      accounts: [...transfer.accounts.slice(0, 2), program],
      instructions: Array.from({ length: count }, () => ({ program: 2, accounts: [], data: new Uint8Array() })),
    });
    assert.equal(of(transfer), 3_000);
    assert.equal(of(times(3)), 600_000);
    assert.equal(of(times(8)), 1_400_000);
    assert.equal(of(budgeted(times(3), { unitLimit: null, unitPriceMicroLamports: 1n })), 603_000);
    assert.equal(of(budgeted(times(3), { unitLimit: 5_000_000, unitPriceMicroLamports: null })), 1_400_000);
  });

  it('compute budget: rounds its fee up to a lamport', () => {
    assert.deepEqual([priorityFeeLamports(1n, 1), priorityFeeLamports(10n, 100_000), priorityFeeLamports(0n, 9)], [1n, 1n, 0n]);
  });
});
