import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address, type KeyPairSigner } from '@solana/kit';
import { contentFromRequest } from '../../../src/chains/solana/content.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { SolanaPolicies } from '../../../src/core/records/relayer.js';
import type { SolanaInstruction, SolanaRequest } from '../../../src/core/records/solana.js';
import { signerOf } from '../../../src/sandbox/solana/build-transaction.js';
import { transferOf, unitLimitOf, unitPriceOf } from '../../../src/sandbox/solana/instructions.js';
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
/** Builds a transaction that the relayer pays and in which another account moves its own lamports. */
const shared = [transferOf(other.address, to, 5n)];

function contentOf(request: Partial<SolanaRequest>, policies: Partial<SolanaPolicies> = {}) {
  return contentFromRequest(solanaRequest(request), { relayer: solanaRelayer(relayer, policies), nowMs });
}

/** Returns the reason and the message of a refusal. */
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

describe('request', () => {
  it('keeps a transaction unchanged: legacy and v0, with and without other signers', async () => {
    for (const version of ['legacy', 0] as const) {
      const alone = await builtTransaction(relayer, plain, { version });
      for (const transaction of [alone, await builtTransaction(relayer, shared, { version, signers: [other] })]) {
        assert.deepEqual(contentOf({ transaction }), { content: { network: 'solana', transaction, instructions: [] }, validUntilMs: null });
      }
    }
  });

  it('request: accepts a transaction that the relayer already signed', async () => {
    const transaction = await builtTransaction(relayer, plain);
    const own = await key.signer.sign(Buffer.from(transaction, 'base64').subarray(65));
    assert.ok(contentOf({ transaction: withSignature(transaction, 0, own) }));
  });

  it('request: keeps instructions unchanged', () => {
    const instructions = [transfer, memoInstruction('hello', [{ pubkey: relayer, isSigner: true, isWritable: false }])];
    assert.deepEqual(contentOf({ instructions }).content, { network: 'solana', transaction: null, instructions });
    assert.ok(contentOf({ instructions: Array.from({ length: 64 }, () => memoInstruction('')) }));
    assert.ok(contentOf({ instructions: [memoInstruction('', readonlyAccounts(26))] }));
    const nonce: SolanaInstruction = { programId: systemProgram, accounts: readonlyAccounts(1), data: 'BAAAAA==' };
    assert.ok(contentOf({ instructions: [transfer, nonce] }), 'a later instruction may advance a nonce account');
  });

  it('request: accepts valid_until', () => {
    const validUntilMs = Date.parse('2029-01-01T00:01:00Z');
    assert.equal(contentOf({ instructions: [transfer], validUntilMs }).validUntilMs, nowMs + 60_000);
  });
});

describe('request: rejects an invalid request', () => {
  for (const { what, request, sentence } of refusals) {
    it(`with ${what}`, () => assert.deepEqual(refusalOf(request), ['FIELD_INVALID', sentence]));
  }
});

describe('policies of the relayer', () => {
  it('policies of the relayer: allow what they list, and always the relayer and the compute budget program', async () => {
    const priced = { programId: budgetProgram, accounts: [], data: Buffer.from([2, 64, 13, 3, 0]).toString('base64') };
    const request = { instructions: [priced, transfer] };
    assert.ok(contentOf(request, strictSolanaPolicies));
    assert.ok(contentOf(request, { allowedPrograms: [systemProgram], allowedAccounts: [systemProgram, to], maxSignatures: 1 }));
    assert.ok(contentOf(request, { disallowedAccounts: [memoProgram, relayer], maxTxDataSizeBytes: 274, maxAllowedFeeLamports: 5000n }));
    const transaction = await builtTransaction(relayer, shared, { version: 0, signers: [other] });
    assert.ok(contentOf({ transaction }, { maxSignatures: 2, maxAllowedFeeLamports: 10_000n }));
  });

  it('policies of the relayer: without a maximum, bound the fee that the caller sets', async () => {
    const priced = async (microLamports: bigint, signers: readonly KeyPairSigner[] = []) =>
      builtTransaction(relayer, [...(signers.length === 0 ? [] : shared), unitLimitOf(1_000_000), unitPriceOf(microLamports)], { signers });
    assert.ok(contentOf({ transaction: await priced(10_000_000n) }));
    assert.ok(contentOf({ transaction: await priced(10_000_000n, [other]) }));
    const sentence =
      "transaction costs a fee of 10005001 lamports; the default maximum is 10005000: set the relayer's max_allowed_fee_lamports to 10005001 or more";
    assert.deepEqual(refusalOf({ transaction: await priced(10_000_001n) }), ['FIELD_INVALID', sentence]);
    assert.ok(contentOf({ transaction: await priced(10_000_001n) }, { maxAllowedFeeLamports: 10_005_001n }));
  });

  for (const { what, request, sentence, reason = 'FIELD_INVALID' } of policyRefusals) {
    it(`policies of the relayer: reject ${what}`, () => assert.deepEqual(refusalOf(request, strictSolanaPolicies), [reason, sentence]));
  }

  it('policies of the relayer: reject accounts that they do not list, including programs', () => {
    const missing = (account: string) => `instructions uses the account ${account}, which is not in the relayer's allowed_accounts`;
    for (const [allowedAccounts, account] of [
      [[systemProgram], to],
      [[to], systemProgram],
    ] as const) {
      assert.deepEqual(refusalOf({ instructions: [transfer] }, { allowedAccounts }), ['RECEIVER_NOT_ALLOWED', missing(account)]);
    }
  });
});
