import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address } from '@solana/kit';
import { contentFromRequest } from '../../../src/chains/solana/content.js';
import { DomainError } from '../../../src/core/errors.js';
import type { SolanaPolicies } from '../../../src/core/relayer/relayer.js';
import type { SolanaInstruction, SolanaRequest } from '../../../src/core/transaction/solana.js';
import { signerOf } from '../../local-chains/solana/build-transaction.js';
import { transferOf } from '../../local-chains/solana/instructions.js';
import { solanaKey, solanaRelayer, solanaRequest, transferInstruction } from '../../support/solana.js';
import { solanaRefusals, strictRefusals, strictSolanaPolicies } from '../../support/solana-refusals.js';
import { builtTransaction, memoInstruction, memoProgram, readonlyAccounts, withSignature } from '../../support/solana-samples.js';

const key = solanaKey();
const relayer = key.address;
const other = await signerOf(7);
const to = (await signerOf(8)).address;
const systemProgram = '11111111111111111111111111111111';
const budgetProgram = 'ComputeBudget111111111111111111111111111111';
const refusals = await solanaRefusals(relayer);
const policyRefusals = await strictRefusals(relayer);
const nowMs = Date.parse('2029-01-01T00:00:00Z');

const transfer = transferInstruction(relayer, to, 5n);
const plain = [transferOf(address(relayer), to, 5n)];
/** The relayer pays, and somebody else moves its own lamports. */
const shared = [transferOf(other.address, to, 5n)];

function contentOf(request: Partial<SolanaRequest>, policies: Partial<SolanaPolicies> = {}) {
  return contentFromRequest(solanaRequest(request), { relayer: solanaRelayer(relayer, policies), nowMs });
}

/** What a refusal says, and the reason it carries. */
function refusalOf(request: Partial<SolanaRequest>, policies: Partial<SolanaPolicies> = {}): readonly [string, string] {
  try {
    contentOf(request, policies);
  } catch (error) {
    assert.ok(error instanceof DomainError, String(error));
    assert.equal(error.kind, 'invalid');
    assert.equal(error.fields.length, 1);
    assert.ok(error.message.startsWith(`${error.fields[0]?.field} `), error.message);
    return [error.reason, error.message];
  }
  throw new Error('it was taken');
}

describe('a request', () => {
  it('with a transaction is taken as it is: legacy and v0, alone and with the signatures of others', async () => {
    for (const version of ['legacy', 0] as const) {
      const alone = await builtTransaction(relayer, plain, { version });
      for (const transaction of [alone, await builtTransaction(relayer, shared, { version, signers: [other] })]) {
        assert.deepEqual(contentOf({ transaction }), { content: { network: 'solana', transaction, instructions: [] }, validUntilMs: null });
      }
    }
  });

  it('may have a valid signature of the relayer already', async () => {
    const transaction = await builtTransaction(relayer, plain);
    const own = await key.signer.sign(Buffer.from(transaction, 'base64').subarray(65));
    assert.ok(contentOf({ transaction: withSignature(transaction, 0, own) }));
  });

  it('with instructions is taken as it is', () => {
    const instructions = [transfer, memoInstruction('hello', [{ pubkey: relayer, isSigner: true, isWritable: false }])];
    assert.deepEqual(contentOf({ instructions }).content, { network: 'solana', transaction: null, instructions });
    assert.ok(contentOf({ instructions: Array.from({ length: 64 }, () => memoInstruction('')) }));
    assert.ok(contentOf({ instructions: [memoInstruction('', readonlyAccounts(26))] }));
    const nonce: SolanaInstruction = { programId: systemProgram, accounts: readonlyAccounts(1), data: 'BAAAAA==' };
    assert.ok(contentOf({ instructions: [transfer, nonce] }), 'a nonce account may be advanced by a later instruction');
  });

  it('may say until when it is wanted', () => {
    const validUntil = '2029-01-01T00:01:00Z';
    assert.equal(contentOf({ instructions: [transfer], validUntil }).validUntilMs, nowMs + 60_000);
  });
});

describe('a request is refused', () => {
  for (const { what, request, sentence } of refusals) {
    it(`with ${what}`, () => assert.deepEqual(refusalOf(request), ['FIELD_INVALID', sentence]));
  }
});

describe("the relayer's policies", () => {
  it('allow what they name, and always the relayer itself and the compute budget', async () => {
    const priced = { programId: budgetProgram, accounts: [], data: Buffer.from([2, 64, 13, 3, 0]).toString('base64') };
    const request = { instructions: [priced, transfer] };
    assert.ok(contentOf(request, strictSolanaPolicies));
    assert.ok(contentOf(request, { allowedPrograms: [systemProgram], allowedAccounts: [systemProgram, to], maxSignatures: 1 }));
    assert.ok(contentOf(request, { disallowedAccounts: [memoProgram, relayer], maxTxDataSizeBytes: 274, maxAllowedFeeLamports: 5000n }));
    const transaction = await builtTransaction(relayer, shared, { version: 0, signers: [other] });
    assert.ok(contentOf({ transaction }, { maxSignatures: 2, maxAllowedFeeLamports: 10_000n }));
  });

  for (const { what, request, sentence, reason = 'FIELD_INVALID' } of policyRefusals) {
    it(`refuse ${what}`, () => assert.deepEqual(refusalOf(request, strictSolanaPolicies), [reason, sentence]));
  }

  it('refuse accounts that they do not name, programs among them', () => {
    const missing = (account: string) => `instructions uses the account ${account}, which is not in the relayer's allowed_accounts`;
    for (const [allowedAccounts, account] of [
      [[systemProgram], to],
      [[to], systemProgram],
    ] as const) {
      assert.deepEqual(refusalOf({ instructions: [transfer] }, { allowedAccounts }), ['RECEIVER_NOT_ALLOWED', missing(account)]);
    }
  });
});
