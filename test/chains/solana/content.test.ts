import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address, type Instruction, signBytes } from '@solana/kit';
import { base64From } from '../../../src/chains/solana/base64.js';
import { compileInstructions } from '../../../src/chains/solana/compile.js';
import { contentFromRequest } from '../../../src/chains/solana/content.js';
import { type Message, messageBytes, transactionBytes } from '../../../src/chains/solana/wire.js';
import { DomainError } from '../../../src/core/errors.js';
import type { SolanaPolicies } from '../../../src/core/relayer/relayer.js';
import type { SolanaInstruction, SolanaRequest } from '../../../src/core/transaction/solana.js';
import { buildTransaction, signerOf } from '../../local-chains/solana/build-transaction.js';
import { transferOf, unitLimitOf, unitPriceOf } from '../../local-chains/solana/instructions.js';
import { solanaKey, solanaRelayer, solanaRequest, transferInstruction } from '../../support/solana.js';

const key = solanaKey();
const relayer = key.address;
const other = await signerOf(7);
const to = (await signerOf(8)).address;
const systemProgram = '11111111111111111111111111111111';
const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const budgetProgram = 'ComputeBudget111111111111111111111111111111';
const blockhash = 'GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W';
const nowMs = Date.parse('2030-01-01T00:00:00Z');

const transfer = transferInstruction(relayer, to, 5n);
const memo = (text = 'hello', accounts: SolanaInstruction['accounts'] = []): SolanaInstruction => ({
  programId: memoProgram,
  accounts,
  data: Buffer.from(text).toString('base64'),
});

function contentOf(request: Partial<SolanaRequest>, policies: Partial<SolanaPolicies> = {}) {
  return contentFromRequest(solanaRequest(request), { relayer: solanaRelayer(relayer, policies), nowMs });
}

/** What a refusal says: fields and sentence. */
function refusalOf(request: Partial<SolanaRequest>, policies: Partial<SolanaPolicies> = {}): string {
  try {
    contentOf(request, policies);
  } catch (error) {
    assert.ok(error instanceof DomainError, String(error));
    assert.equal(error.kind, 'invalid');
    assert.equal(error.fields.length, 1);
    assert.ok(error.message.startsWith(`${error.fields[0]?.field} `), error.message);
    return error.message;
  }
  throw new Error('it was taken');
}

const keys = (count: number): string[] => Array.from({ length: count }, () => solanaKey().address);
const readonlyMeta = (pubkey: string) => ({ pubkey, isSigner: false, isWritable: false });

/** A transaction of any message, signed by nobody: what a library would refuse to build. */
function raw(changes: Partial<Message>, signatures?: number): string {
  const message = { ...compileInstructions(relayer, [transfer]), ...changes };
  const missing = Array.from({ length: signatures ?? message.signers }, () => new Uint8Array(64));
  return base64From(transactionBytes(missing, messageBytes(message)));
}

async function built(
  instructions: readonly Instruction[],
  version: 'legacy' | 0 = 'legacy',
  signers: readonly (typeof other)[] = [],
): Promise<string> {
  return base64From(await buildTransaction({ payer: address(relayer), instructions, blockhash, version, signers }));
}

const plain = [transferOf(address(relayer), to, 5n)];
/** The relayer pays, and somebody else moves its own lamports. */
const shared = [transferOf(other.address, to, 5n)];

/** The transaction with this signature in a signer's place. */
function withSignature(transaction: string, place: number, signature: Uint8Array): string {
  const bytes = Buffer.from(transaction, 'base64');
  bytes.set(signature, 1 + place * 64);
  return bytes.toString('base64');
}

describe('a transaction', () => {
  it('is taken as it is: legacy and v0, alone and with the signatures of others', async () => {
    for (const version of ['legacy', 0] as const) {
      for (const transaction of [await built(plain, version), await built(shared, version, [other])]) {
        assert.deepEqual(contentOf({ transaction }), {
          content: { network: 'solana', transaction, instructions: [] },
          validUntilMs: null,
        });
      }
    }
  });

  it('is taken with a valid signature of the relayer', async () => {
    const transaction = await built(plain);
    const own = await key.signer.sign(Buffer.from(transaction, 'base64').subarray(65));
    assert.ok(contentOf({ transaction: withSignature(transaction, 0, own) }));
  });

  it('is refused with a sentence about what is wrong with it', async () => {
    const whole = await built(plain);
    const bytes = Buffer.from(whole, 'base64');
    const withShared = await built(shared, 'legacy', [other]);
    const junk = new Uint8Array(64).fill(1);
    const foreign = await signBytes(other.keyPair.privateKey, Buffer.from('something else'));
    const cases: readonly (readonly [string, Partial<SolanaRequest>, string])[] = [
      ['nothing', {}, 'transaction is required when there are no instructions'],
      ['both', { transaction: whole, instructions: [transfer] }, 'transaction cannot be combined with instructions: give one of them'],
      ['empty', { transaction: '' }, 'transaction is not a transaction in wire form: it ends within its signatures, or has none'],
      ['no base64', { transaction: 'not base64!' }, 'transaction must be base64'],
      ['base64url', { transaction: `-_${whole.slice(2)}` }, 'transaction must be base64'],
      ['base64 without padding', { transaction: base64From(new Uint8Array(4)).replace(/=+$/, '') }, 'transaction must be base64'],
      ['a line break', { transaction: `${whole}\n` }, 'transaction must be base64'],
      ['too many characters', { transaction: 'A'.repeat(1648) }, 'transaction must have at most 1232 bytes'],
      ['too many bytes', { transaction: base64From(new Uint8Array(1233)) }, 'transaction has 1233 bytes: at most 1232'],
      [
        'no signatures',
        { transaction: base64From(Buffer.concat([Buffer.from([0]), bytes.subarray(65)])) },
        'transaction is not a transaction in wire form: it ends within its signatures, or has none',
      ],
      [
        'cut',
        { transaction: base64From(Buffer.from(whole, 'base64').subarray(0, -1)) },
        'transaction is not a transaction in wire form: it ends too early, or is of a version that is not supported',
      ],
      [
        'only its signatures',
        { transaction: base64From(Buffer.from(whole, 'base64').subarray(0, 65)) },
        'transaction is not a transaction in wire form: it ends within its signatures, or has none',
      ],
      [
        'more behind it',
        { transaction: base64From(Buffer.concat([Buffer.from(whole, 'base64'), Buffer.from([0])])) },
        'transaction is not a transaction in wire form: 1 bytes are left over at its end',
      ],
      [
        'version 1',
        { transaction: base64From(Buffer.from([0x81, 1, 0, 0])) },
        'transaction is of a version that is not supported: legacy and version 0 are',
      ],
      [
        'a length in a longer form',
        { transaction: longLength(whole) },
        'transaction is not a transaction in wire form: a length in it is not in its shortest form',
      ],
      ['too many signatures', { transaction: raw({}, 2) }, 'transaction has 2 signatures, but its message asks for 1'],
      ['no signers', { transaction: raw({ signers: 0 }, 1) }, 'transaction has a header that counts more accounts than it has'],
      [
        'more signers than accounts',
        { transaction: raw({ signers: 5 }, 1) },
        'transaction has a header that counts more accounts than it has',
      ],
      [
        'nobody who can pay',
        { transaction: raw({ readonlySigners: 1 }) },
        'transaction has a header without an account that can pay the fee',
      ],
      ['an account twice', { transaction: raw({ accounts: [address(relayer), to, to] }) }, `transaction has the account ${to} twice`],
      [
        'an account that it does not list',
        { transaction: raw({ instructions: [{ program: 2, accounts: [3], data: new Uint8Array() }] }) },
        'transaction has an account in instruction 0 that it does not list',
      ],
      [
        'a program that it does not list',
        { transaction: raw({ instructions: [{ program: 3, accounts: [], data: new Uint8Array() }] }) },
        'transaction has an account in instruction 0 that it does not list',
      ],
      [
        'its payer as a program',
        { transaction: raw({ instructions: [{ program: 0, accounts: [], data: new Uint8Array() }] }) },
        'transaction calls the account that pays the fee as a program, in instruction 0',
      ],
      [
        'a program from a table',
        {
          transaction: raw({
            version: 0,
            tables: [{ table: to, writable: [0], readonly: [] }],
            instructions: [{ program: 3, accounts: [], data: new Uint8Array() }],
          }),
        },
        'transaction has an account in instruction 0 that it does not list',
      ],
      [
        'an empty lookup',
        { transaction: raw({ version: 0, tables: [{ table: to, writable: [], readonly: [] }] }) },
        'transaction looks up nothing in one of its tables',
      ],
      [
        'too many accounts',
        {
          transaction: raw({
            version: 0,
            tables: [{ table: to, writable: Array.from({ length: 62 }, (_, index) => index), readonly: [] }],
          }),
        },
        'transaction has 65 accounts: at most 64',
      ],
      [
        'too many instructions',
        { transaction: raw({ instructions: Array.from({ length: 65 }, () => ({ program: 2, accounts: [], data: new Uint8Array() })) }) },
        'transaction has 65 instructions: at most 64',
      ],
      [
        'a durable nonce',
        { transaction: raw({ instructions: [{ program: 2, accounts: [1], data: Uint8Array.of(4, 0, 0, 0) }] }) },
        'transaction is on a durable nonce, which is not supported: use a recent blockhash',
      ],
      [
        'another payer',
        {
          transaction: base64From(
            await buildTransaction({ payer: other.address, instructions: shared, blockhash, version: 0, signers: [other] }),
          ),
        },
        `transaction is paid by ${other.address}: its fee payer must be the relayer, ${relayer}`,
      ],
      [
        'a signature missing',
        { transaction: await built(shared) },
        `transaction lacks the signature of ${other.address}: all signers but the relayer must have signed`,
      ],
      [
        'a signature that is none',
        { transaction: withSignature(withShared, 1, junk) },
        `transaction has a signature of ${other.address} that is not valid`,
      ],
      [
        'a signature of something else',
        { transaction: withSignature(withShared, 1, foreign) },
        `transaction has a signature of ${other.address} that is not valid`,
      ],
      [
        "a wrong signature in the relayer's place",
        { transaction: withSignature(whole, 0, junk) },
        `transaction has a signature of ${relayer} that is not valid`,
      ],
    ];
    for (const [what, request, sentence] of cases) assert.equal(refusalOf(request), sentence, what);
  });
});

describe('instructions', () => {
  it('are taken as they are', () => {
    const instructions = [transfer, memo('hello', [{ pubkey: relayer, isSigner: true, isWritable: false }])];
    assert.deepEqual(contentOf({ instructions }).content, { network: 'solana', transaction: null, instructions });
    assert.ok(contentOf({ instructions: Array.from({ length: 64 }, () => memo('')) }));
    assert.ok(contentOf({ instructions: [memo('', keys(26).map(readonlyMeta))] }));
  });

  it('are refused with a sentence about what is wrong with them', () => {
    const one = keys(1)[0] ?? '';
    const nonce: SolanaInstruction = { programId: systemProgram, accounts: [readonlyMeta(one)], data: 'BAAAAA==' };
    const cases: readonly (readonly [SolanaInstruction[], string])[] = [
      [Array.from({ length: 65 }, () => memo()), 'instructions has 65 items: at most 64'],
      [[{ ...transfer, programId: '' }], 'instructions[0].program_id is required'],
      [[transfer, { ...transfer, programId: '0OIl' }], 'instructions[1].program_id must be 32 bytes in base58'],
      [[{ ...transfer, programId: `${systemProgram}1` }], 'instructions[0].program_id must be 32 bytes in base58'],
      [[{ ...transfer, programId: relayer }], 'instructions[0].program_id must be a program: it is the relayer'],
      [[memo('', keys(65).map(readonlyMeta))], 'instructions[0].accounts has 65 items: at most 64'],
      [[memo('', [readonlyMeta('')])], 'instructions[0].accounts[0].pubkey is required'],
      [[memo('', [readonlyMeta(one), readonlyMeta('x'.repeat(10_000))])], 'instructions[0].accounts[1].pubkey must be 32 bytes in base58'],
      [
        [memo('', [{ pubkey: one, isSigner: true, isWritable: false }])],
        'instructions[0].accounts[0].is_signer must be false: only the relayer can sign instructions; send a transaction that the others have signed',
      ],
      [
        [transfer, memo('', [{ pubkey: systemProgram, isSigner: false, isWritable: true }])],
        'instructions[1].accounts[0].is_writable must be false: the account is called as a program',
      ],
      [[memo('x'.repeat(1233))], 'instructions[0].data has 1233 bytes: at most 1232'],
      [[{ ...memo(), data: '====' }], 'instructions[0].data must be base64'],
      [
        [memo('', keys(32).map(readonlyMeta)), memo('', keys(31).map(readonlyMeta))],
        "instructions use 65 accounts, programs and the relayer's own included: at most 64",
      ],
      [[memo('x'.repeat(1200))], 'instructions take 1370 bytes as a transaction: at most 1232'],
      [[nonce, transfer], 'instructions is on a durable nonce, which is not supported: use a recent blockhash'],
    ];
    for (const [instructions, sentence] of cases) assert.equal(refusalOf({ instructions }), sentence);
    assert.ok(contentOf({ instructions: [transfer, nonce] }), 'a nonce account may be advanced by a later instruction');
  });
});

describe('valid_until', () => {
  it('is read, and must not be past', () => {
    const validUntil = '2030-01-01T00:01:00Z';
    assert.equal(contentOf({ instructions: [transfer], validUntil }).validUntilMs, nowMs + 60_000);
    assert.equal(refusalOf({ instructions: [transfer], validUntil: '2029-01-01T00:00:00Z' }), 'valid_until must not be in the past');
    assert.equal(
      refusalOf({ instructions: [transfer], validUntil: '1893456000' }),
      'valid_until must be an RFC 3339 time, such as 2030-01-31T12:00:00Z',
    );
  });
});

describe("the relayer's policies", () => {
  it('allow what they name, and always the relayer itself and the compute budget', async () => {
    const priced = { programId: budgetProgram, accounts: [], data: Buffer.from([2, 64, 13, 3, 0]).toString('base64') };
    const request = { instructions: [priced, transfer] };
    assert.ok(contentOf(request, { allowedPrograms: [systemProgram], allowedAccounts: [systemProgram, to], maxSignatures: 1 }));
    assert.ok(contentOf(request, { disallowedAccounts: [memoProgram, relayer], maxTxDataSizeBytes: 274, maxAllowedFeeLamports: 5000n }));
    assert.ok(contentOf({ transaction: await built(shared, 0, [other]) }, { maxSignatures: 2, maxAllowedFeeLamports: 10_000n }));
  });

  it('refuse what they do not', async () => {
    const limit = unitLimitOf(100_000);
    const cases: readonly (readonly [Partial<SolanaRequest>, Partial<SolanaPolicies>, string])[] = [
      [
        { instructions: [memo()] },
        { allowedPrograms: [systemProgram] },
        `instructions calls the program ${memoProgram}, which the relayer's allowed_programs does not have`,
      ],
      [
        { instructions: [transfer] },
        { allowedAccounts: [systemProgram] },
        `instructions uses the account ${to}, which the relayer's allowed_accounts does not have`,
      ],
      [
        { instructions: [transfer] },
        { allowedAccounts: [to] },
        `instructions uses the account ${systemProgram}, which the relayer's allowed_accounts does not have`,
      ],
      [
        { instructions: [transfer] },
        { disallowedAccounts: [to] },
        `instructions uses the account ${to}, which is in the relayer's disallowed_accounts`,
      ],
      [
        { transaction: await built(plain) },
        { disallowedAccounts: [to] },
        `transaction uses the account ${to}, which is in the relayer's disallowed_accounts`,
      ],
      [
        { transaction: await built(shared, 0, [other]) },
        { maxSignatures: 1 },
        "transaction needs 2 signatures: at most 1, the relayer's max_signatures",
      ],
      [
        { transaction: await built(plain) },
        { maxTxDataSizeBytes: 100 },
        "transaction takes 215 bytes as a transaction: at most 100, the relayer's max_tx_data_size",
      ],
      [
        { transaction: await built([...plain, limit, unitPriceOf(10_000n)]) },
        { maxAllowedFeeLamports: 5_999n },
        "transaction costs a fee of 6000 lamports: at most 5999, the relayer's max_allowed_fee_lamports",
      ],
      [
        { transaction: await built([...plain, unitPriceOf(10_000n)]) },
        { maxAllowedFeeLamports: 6_999n },
        "transaction costs a fee of 7000 lamports: at most 6999, the relayer's max_allowed_fee_lamports",
      ],
      [
        { transaction: await built(shared, 0, [other]) },
        { maxAllowedFeeLamports: 9_999n },
        "transaction costs a fee of 10000 lamports: at most 9999, the relayer's max_allowed_fee_lamports",
      ],
    ];
    for (const [request, policies, sentence] of cases) assert.equal(refusalOf(request, policies), sentence);
  });
});

/** The number of accounts, in two bytes where one is enough. */
function longLength(transaction: string): string {
  const bytes = Buffer.from(transaction, 'base64');
  const at = 65 + 3;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from([(bytes[at] ?? 0) | 0x80, 0]), bytes.subarray(at + 1)]).toString('base64');
}
