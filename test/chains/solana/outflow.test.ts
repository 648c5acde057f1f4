import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileInstructions } from '../../../src/chains/solana/instructions.js';
import { outflowLamports, paidAccounts } from '../../../src/chains/solana/outflow.js';
import type { SolanaInstruction } from '../../../src/core/records/solana.js';
import { solanaKey, transferInstruction } from '../../support/solana.js';

const payer = solanaKey().address;
const other = solanaKey().address;

function system(from: string, data: Buffer): SolanaInstruction {
  return { ...transferInstruction(from, other, 0n), data: data.toString('base64') };
}

/** Encodes a tag, then 64-bit integers and bytes. */
function dataOf(tag: number, ...parts: readonly (bigint | Buffer)[]): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(tag);
  const bytes = parts.map((part) => {
    if (typeof part !== 'bigint') return part;
    const number = Buffer.alloc(8);
    number.writeBigUInt64LE(part);
    return number;
  });
  return Buffer.concat([head, ...bytes]);
}

const owner = Buffer.alloc(32, 1);

describe('outflow', () => {
  const cases: readonly (readonly [string, readonly SolanaInstruction[], bigint])[] = [
    ['transfers', [transferInstruction(payer, other, 5n), transferInstruction(payer, other, 2n ** 62n)], 2n ** 62n + 5n],
    ['new accounts', [system(payer, dataOf(0, 7n, 10n, owner))], 7n],
    ['new accounts with a seed', [system(payer, dataOf(3, owner, 4n, Buffer.from('seed'), 9n, 10n, owner))], 9n],
    ["somebody else's transfers", [transferInstruction(other, payer, 5n)], 0n],
    ['transfers to itself', [transferInstruction(payer, payer, 5n)], 0n],
    ['other instructions of the program', [system(payer, dataOf(8, 100n))], 0n],
    ['data that is cut', [system(payer, dataOf(2)), system(payer, Buffer.from([2])), system(payer, dataOf(3, owner, 2n ** 63n))], 0n],
    ['other programs', [{ ...transferInstruction(payer, other, 5n), programId: solanaKey().address }], 0n],
  ];
  for (const [what, instructions, lamports] of cases) {
    it(`outflow: counts ${lamports} lamports for ${what}`, () => {
      assert.equal(outflowLamports(compileInstructions(payer, instructions), payer), lamports);
    });
  }
});

describe('receivers', () => {
  const third = solanaKey().address;
  /** An instruction with these accounts, of which none signs. */
  const of = (accounts: readonly string[], data: Buffer): SolanaInstruction => ({
    ...transferInstruction(payer, other, 0n),
    accounts: accounts.map((pubkey) => ({ pubkey, isSigner: pubkey === payer, isWritable: true })),
    data: data.toString('base64'),
  });
  const seed = [4n, Buffer.from('seed')] as const;
  const cases: readonly (readonly [string, readonly SolanaInstruction[], readonly string[]])[] = [
    ['a transfer', [transferInstruction(payer, other, 5n)], [other]],
    ["somebody else's transfer", [transferInstruction(other, third, 5n)], [third]],
    ['a transfer to itself', [transferInstruction(payer, payer, 5n)], [payer]],
    ['several transfers', [transferInstruction(payer, other, 1n), transferInstruction(payer, third, 1n)], [other, third]],
    ['a new account', [of([payer, other], dataOf(0, 7n, 10n, owner))], [other]],
    ['a new account with a seed', [of([payer, other, payer], dataOf(3, owner, ...seed, 9n, 10n, owner))], [other]],
    ['a withdrawal from a nonce account', [of([other, third, payer], dataOf(5, 7n))], [third]],
    ['a transfer with a seed', [of([other, payer, third], dataOf(11, 7n, ...seed, owner))], [third]],
    ...[1, 4, 6, 7, 8, 9, 10, 12].map(
      (tag) => [`instruction ${tag} of the system program`, [of([payer, other, third], dataOf(tag, 7n))], []] as const,
    ),
    ['data that is cut', [of([payer, other], Buffer.from([2]))], []],
    ['missing accounts', [of([payer], dataOf(2, 5n))], []],
    ['other programs', [{ ...transferInstruction(payer, other, 5n), programId: solanaKey().address }], []],
  ];
  for (const [what, instructions, receivers] of cases)
    it(`receivers: of ${what}`, () => {
      assert.deepEqual(paidAccounts(compileInstructions(payer, instructions)), receivers);
    });
});
