import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address } from '@solana/kit';
import { hasSigned, signatureText } from '../../../src/chains/solana/sign.js';
import { signForeignTransaction } from '../../../src/chains/solana/sign-foreign.js';
import { transactionFromBytes } from '../../../src/chains/solana/wire.js';
import type { SolanaPolicies } from '../../../src/core/records/relayer.js';
import { buildTransaction, signerOf } from '../../../src/sandbox/solana/build-transaction.js';
import { transferOf } from '../../../src/sandbox/solana/instructions.js';
import { solanaKey, solanaRelayer } from '../../support/solana.js';
import { strictRefusals, strictSolanaPolicies } from '../../support/solana-refusals.js';
import { builtTransaction, rawTransaction, someBlockhash, withSignature } from '../../support/solana-samples.js';

const key = solanaKey();
const relayer = key.address;
const other = await signerOf(7);
const to = (await signerOf(8)).address;

const sign = (transaction: string, policies: Partial<SolanaPolicies> = {}) =>
  signForeignTransaction(transaction, solanaRelayer(relayer, policies), key.signer);

/** Checks that it is the same transaction with the relayer's signature at that index. */
function requireSigned(before: string, after: { transaction: string; signature: string }, place: number): void {
  const wire = transactionFromBytes(Buffer.from(after.transaction, 'base64'));
  const own = wire.signatures[place];
  assert.ok(own !== undefined && hasSigned(address(relayer), own, wire.messageBytes));
  assert.equal(after.signature, signatureText(own));
  assert.equal(withSignature(before, place, own), after.transaction);
}

describe("signing a caller's transaction", () => {
  it("signing a caller's transaction: adds the relayer's signature and changes nothing else, whether others have signed or not", async () => {
    const shared = [transferOf(other.address, to, 5n)];
    for (const transaction of [
      await builtTransaction(relayer, [transferOf(address(relayer), to, 5n)]),
      await builtTransaction(relayer, shared, { version: 0 }),
      await builtTransaction(relayer, shared, { signers: [other] }),
    ]) {
      requireSigned(transaction, await sign(transaction), 0);
    }
  });

  it("signing a caller's transaction: works if another account pays", async () => {
    const instructions = [transferOf(address(relayer), to, 5n)];
    const bytes = await buildTransaction({ payer: other.address, instructions, blockhash: someBlockhash, signers: [other] });
    const transaction = Buffer.from(bytes).toString('base64');
    requireSigned(transaction, await sign(transaction, { maxAllowedFeeLamports: 1n }), 1);
  });

  it("signing a caller's transaction: is refused if the relayer is not a signer, and for lookup tables under account policies", async () => {
    const bytes = await buildTransaction({ payer: other.address, instructions: [], blockhash: someBlockhash, signers: [] });
    await assert.rejects(sign(Buffer.from(bytes).toString('base64')), {
      message: `transaction does not need the relayer's signature: ${relayer} is not one of its signers`,
    });
    const tables = [{ table: to, writable: [0], readonly: [] }];
    const looked = rawTransaction(relayer, to, { version: 0, tables });
    assert.ok(await sign(looked));
    await assert.rejects(sign(looked, { disallowedAccounts: [other.address] }), {
      message: "transaction uses address lookup tables, so the relayer's account policies cannot be checked here; send it instead",
    });
    await assert.rejects(sign('AAAA'), { reason: 'FIELD_INVALID' });
  });

  it("signing a caller's transaction: is refused by the same policies as sending", async () => {
    for (const { request, sentence } of await strictRefusals(relayer)) {
      if (request.transaction === undefined) continue;
      await assert.rejects(sign(request.transaction, strictSolanaPolicies), { message: sentence });
    }
  });
});
