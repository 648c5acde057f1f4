import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address } from '@solana/kit';
import fc from 'fast-check';
import {
  type Message,
  messageBytes,
  transactionBytes,
  transactionFromBytes,
  unsignedTransactionBytes,
  writableAccounts,
} from '../../../src/chains/solana/wire.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { buildTransaction, signerOf } from '../../../src/sandbox/solana/build-transaction.js';
import { transferOf, unitPriceOf } from '../../../src/sandbox/solana/instructions.js';
import { runs } from '../../support/runs.js';
import { solanaKey } from '../../support/solana.js';

const blockhash = 'GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W';

async function samples(): Promise<readonly Uint8Array[]> {
  const [payer, other, to] = await Promise.all([signerOf(1), signerOf(2), signerOf(3)]);
  const instructions = [transferOf(other.address, to.address, 5n), unitPriceOf(7n)];
  return Promise.all(
    (['legacy', 0] as const).map((version) =>
      buildTransaction({ payer: payer.address, instructions, blockhash, version, signers: [payer, other] }),
    ),
  );
}

const withTables: Message = {
  version: 0,
  signers: 2,
  readonlySigners: 1,
  readonlyOthers: 1,
  accounts: Array.from({ length: 4 }, () => address(solanaKey().address)),
  blockhash,
  instructions: [{ program: 3, accounts: [0, 4, 6], data: Uint8Array.of(1, 2, 3) }],
  tables: [{ table: address(solanaKey().address), writable: [7, 255], readonly: [0] }],
};

describe('wire form', () => {
  it('wire form: is decoded and encoded to the same bytes as the public library writes', async () => {
    for (const bytes of await samples()) {
      const { signatures, message, messageBytes: signed } = transactionFromBytes(bytes);
      assert.equal(signatures.length, 2);
      assert.equal(message.blockhash, blockhash);
      assert.deepEqual(messageBytes(message), new Uint8Array(signed));
      assert.deepEqual(new Uint8Array(transactionBytes(signatures, signed)), bytes);
    }
  });

  it('wire form: has lookup tables in v0', () => {
    const { signatures, message } = transactionFromBytes(unsignedTransactionBytes(withTables));
    assert.deepEqual(message, withTables);
    assert.deepEqual(
      signatures.map((signature) => signature.length),
      [64, 64],
    );
  });

  it('wire form: lists its writable accounts', () => {
    const [payer, , writable] = withTables.accounts;
    assert.deepEqual(writableAccounts(withTables), [payer, writable]);
  });

  it('wire form: rejects hostile bytes without any other error', async () => {
    const valid = await samples();
    const mutated = fc
      .tuple(
        fc.constantFrom(...valid, unsignedTransactionBytes(withTables)),
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 6 }),
        fc.nat(),
      )
      .map(([bytes, changes, cut]) => {
        const changed = Uint8Array.from(bytes);
        for (const [at, byte] of changes) changed[at % changed.length] = byte;
        return changed.subarray(0, cut % 3 === 0 ? cut % changed.length : changed.length);
      });
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 1232 })), (bytes) => {
        try {
          const { signatures, message } = transactionFromBytes(bytes);
          // An accepted transaction encodes to the same bytes.
          assert.deepEqual(new Uint8Array(transactionBytes(signatures, messageBytes(message))), new Uint8Array(bytes));
          seen.taken += 1;
        } catch (error) {
          if (!(error instanceof DomainError && error.reason === 'FIELD_INVALID')) throw error;
          seen.refused += 1;
        }
      }),
      { numRuns: runs(2_000) },
    );
    assert.ok(seen.taken > 100 && seen.refused > 100, JSON.stringify(seen));
  });
});
