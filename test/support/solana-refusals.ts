import { AccountRole, address, type Instruction, signBytes } from '@solana/kit';
import { base64From, type Message } from '../../src/chains/solana/wire.js';
import type { SolanaPolicies } from '../../src/core/records/relayer.js';
import type { SolanaInstruction, SolanaRequest } from '../../src/core/records/solana.js';
import { buildTransaction, signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { transferOf, unitLimitOf, unitPriceOf } from '../../src/sandbox/solana/instructions.js';
import { solanaKey, transferInstruction } from './solana.js';
import {
  someBlockhash as blockhash,
  builtTransaction,
  memoInstruction as memo,
  memoProgram,
  rawTransaction,
  readonlyAccounts,
  withSignature,
} from './solana-samples.js';

/** A request that is refused, and the sentence that says why. */
export interface SolanaRefusal {
  readonly what: string;
  readonly request: Partial<SolanaRequest>;
  readonly sentence: string;
  /** Absent: `FIELD_INVALID`. */
  readonly reason?: 'RECEIVER_NOT_ALLOWED';
}

const systemProgram = '11111111111111111111111111111111';
const [other, third, to, forbidden] = (await Promise.all([7, 6, 8, 66].map(signerOf))) as [Signer, Signer, Signer, Signer];
type Signer = Awaited<ReturnType<typeof signerOf>>;

/** Every way in which the shape of a request can be wrong under any policies. */
export async function solanaRefusals(relayer: string): Promise<readonly SolanaRefusal[]> {
  return [...(await transactionRefusals(relayer)), ...instructionRefusals(relayer)].map(([what, request, sentence]) => ({
    what,
    request,
    sentence,
  }));
}

type Row = readonly [what: string, request: Partial<SolanaRequest>, sentence: string];

async function transactionRefusals(relayer: string): Promise<readonly Row[]> {
  const raw = (changes: Partial<Message>, signatures?: number): string => rawTransaction(relayer, to.address, changes, signatures);
  const transfer = transferInstruction(relayer, to.address, 5n);
  const whole = await builtTransaction(relayer, [transferOf(address(relayer), to.address, 5n)]);
  const bytes = Buffer.from(whole, 'base64');
  /** The relayer pays, and another account moves its own lamports. */
  const shared = [transferOf(other.address, to.address, 5n)];
  const withShared = await builtTransaction(relayer, shared, { signers: [other] });
  const junk = new Uint8Array(64).fill(1);
  const foreign = await signBytes(other.keyPair.privateKey, Buffer.from('something else'));
  return [
    ['nothing', {}, 'transaction is required if instructions is empty'],
    ['both', { transaction: whole, instructions: [transfer] }, 'transaction cannot be combined with instructions; send one of them'],
    ['empty', { transaction: '' }, 'transaction is not a transaction in wire format: it has no signatures or ends within them'],
    ['no base64', { transaction: 'not base64!' }, 'transaction must be base64'],
    ['base64url', { transaction: `-_${whole.slice(2)}` }, 'transaction must be base64'],
    ['base64 without padding', { transaction: base64From(new Uint8Array(4)).replace(/=+$/, '') }, 'transaction must be base64'],
    ['a line break', { transaction: `${whole}\n` }, 'transaction must be base64'],
    ['too many characters', { transaction: 'A'.repeat(1648) }, 'transaction must have at most 1232 bytes'],
    ['too many bytes', { transaction: base64From(new Uint8Array(1233)) }, 'transaction has 1233 bytes; the maximum is 1232'],
    [
      'no signatures',
      { transaction: base64From(Buffer.concat([Buffer.from([0]), bytes.subarray(65)])) },
      'transaction is not a transaction in wire format: it has no signatures or ends within them',
    ],
    [
      'cut',
      { transaction: base64From(Buffer.from(whole, 'base64').subarray(0, -1)) },
      'transaction is not a transaction in wire format: it ends too early or has an unsupported version',
    ],
    [
      'only its signatures',
      { transaction: base64From(Buffer.from(whole, 'base64').subarray(0, 65)) },
      'transaction is not a transaction in wire format: it has no signatures or ends within them',
    ],
    [
      'more behind it',
      { transaction: base64From(Buffer.concat([Buffer.from(whole, 'base64'), Buffer.from([0])])) },
      'transaction is not a transaction in wire format: 1 bytes follow its end',
    ],
    [
      'version 1',
      { transaction: base64From(Buffer.from([0x81, 1, 0, 0])) },
      'transaction has an unsupported version; use legacy or version 0',
    ],
    [
      'a length in a longer form',
      { transaction: longLength(whole) },
      'transaction is not a transaction in wire format: a length is not in its shortest form',
    ],
    ['too many signatures', { transaction: raw({}, 2) }, 'transaction has 2 signatures, but its message requires 1'],
    ['no signers', { transaction: raw({ signers: 0 }, 1) }, 'transaction has a header that counts more accounts than the message has'],
    [
      'more signers than accounts',
      { transaction: raw({ signers: 5 }, 1) },
      'transaction has a header that counts more accounts than the message has',
    ],
    ['nobody who can pay', { transaction: raw({ readonlySigners: 1 }) }, 'transaction has no writable signer that can pay the fee'],
    [
      'an account twice',
      { transaction: raw({ accounts: [address(relayer), to.address, to.address] }) },
      `transaction lists the account ${to.address} twice`,
    ],
    [
      'an account that it does not list',
      { transaction: raw({ instructions: [{ program: 2, accounts: [3], data: new Uint8Array() }] }) },
      'transaction uses an account in instruction 0 that it does not list',
    ],
    [
      'a program that it does not list',
      { transaction: raw({ instructions: [{ program: 3, accounts: [], data: new Uint8Array() }] }) },
      'transaction uses an account in instruction 0 that it does not list',
    ],
    [
      'its payer as a program',
      { transaction: raw({ instructions: [{ program: 0, accounts: [], data: new Uint8Array() }] }) },
      'transaction calls the fee payer as a program in instruction 0',
    ],
    [
      'a program from a table',
      {
        transaction: raw({
          version: 0,
          tables: [{ table: to.address, writable: [0], readonly: [] }],
          instructions: [{ program: 3, accounts: [], data: new Uint8Array() }],
        }),
      },
      'transaction uses an account in instruction 0 that it does not list',
    ],
    [
      'an empty lookup',
      { transaction: raw({ version: 0, tables: [{ table: to.address, writable: [], readonly: [] }] }) },
      'transaction has an address lookup table without indexes',
    ],
    [
      'too many accounts',
      {
        transaction: raw({
          version: 0,
          tables: [{ table: to.address, writable: Array.from({ length: 62 }, (_, index) => index), readonly: [] }],
        }),
      },
      'transaction has 65 accounts; the maximum is 64',
    ],
    [
      'too many instructions',
      { transaction: raw({ instructions: Array.from({ length: 65 }, () => ({ program: 2, accounts: [], data: new Uint8Array() })) }) },
      'transaction has 65 instructions; the maximum is 64',
    ],
    [
      'a durable nonce',
      { transaction: raw({ instructions: [{ program: 2, accounts: [1], data: Uint8Array.of(4, 0, 0, 0) }] }) },
      'transaction uses a durable nonce, which is not supported; use a recent blockhash',
    ],
    [
      'another payer',
      {
        transaction: base64From(
          await buildTransaction({ payer: other.address, instructions: shared, blockhash, version: 0, signers: [other] }),
        ),
      },
      `transaction has ${other.address} as its fee payer; must be the relayer, ${relayer}`,
    ],
    [
      'a signature missing',
      { transaction: await builtTransaction(relayer, shared) },
      `transaction lacks the signature of ${other.address}; all signers except the relayer must sign first`,
    ],
    [
      'a signature that is none',
      { transaction: withSignature(withShared, 1, junk) },
      `transaction has an invalid signature of ${other.address}`,
    ],
    [
      'a signature of something else',
      { transaction: withSignature(withShared, 1, foreign) },
      `transaction has an invalid signature of ${other.address}`,
    ],
    [
      "a wrong signature in the relayer's place",
      { transaction: withSignature(whole, 0, junk) },
      `transaction has an invalid signature of ${relayer}`,
    ],
    [
      'a time that is past',
      { instructions: [transfer], validUntilMs: Date.parse('2020-01-01T00:00:00Z') },
      'valid_until must not be in the past',
    ],
  ];
}

function instructionRefusals(relayer: string): readonly Row[] {
  const transfer = transferInstruction(relayer, to.address, 5n);
  const one = solanaKey().address;
  const nonce: SolanaInstruction = {
    programId: systemProgram,
    accounts: [{ pubkey: one, isSigner: false, isWritable: true }],
    data: 'BAAAAA==',
  };
  const rows: readonly (readonly [SolanaInstruction[], string])[] = [
    [Array.from({ length: 65 }, () => memo()), 'instructions has 65 items; the maximum is 64'],
    [[{ ...transfer, programId: '' }], 'instructions[0].program_id is required'],
    [[transfer, { ...transfer, programId: '0OIl' }], 'instructions[1].program_id must be 32 bytes in base58'],
    [[{ ...transfer, programId: `${systemProgram}1` }], 'instructions[0].program_id must be 32 bytes in base58'],
    [[{ ...transfer, programId: relayer }], 'instructions[0].program_id must be a program, not the relayer'],
    [[memo('', readonlyAccounts(65))], 'instructions[0].accounts has 65 items; the maximum is 64'],
    [[memo('', [{ pubkey: '', isSigner: false, isWritable: false }])], 'instructions[0].accounts[0].pubkey is required'],
    [
      [memo('', [...readonlyAccounts(1), { pubkey: 'x'.repeat(10_000), isSigner: false, isWritable: false }])],
      'instructions[0].accounts[1].pubkey must be 32 bytes in base58',
    ],
    [
      [memo('', [{ pubkey: one, isSigner: true, isWritable: false }])],
      'instructions[0].accounts[0].is_signer must be false: only the relayer can sign instructions; send a transaction that the others have signed',
    ],
    [
      [transfer, memo('', [{ pubkey: systemProgram, isSigner: false, isWritable: true }])],
      'instructions[1].accounts[0].is_writable must be false: the account is called as a program',
    ],
    [[memo('x'.repeat(1233))], 'instructions[0].data has 1233 bytes; the maximum is 1232'],
    [
      [memo('', readonlyAccounts(32)), memo('', readonlyAccounts(31))],
      "instructions use 65 accounts, including programs and the relayer's own; the maximum is 64",
    ],
    [[memo('x'.repeat(1200))], 'instructions take 1370 bytes as a transaction; the maximum is 1232'],
    [[nonce, transfer], 'instructions uses a durable nonce, which is not supported; use a recent blockhash'],
  ];
  return rows.map(([instructions, sentence]) => [`instructions: ${sentence}`, { instructions }, sentence]);
}

/** Policies of which each refuses something. */
export const strictSolanaPolicies = {
  allowedPrograms: [systemProgram],
  disallowedAccounts: [forbidden.address],
  maxSignatures: 2,
  maxTxDataSizeBytes: 700,
  maxAllowedFeeLamports: 12_000n,
} satisfies Partial<SolanaPolicies>;

/** The requests that a relayer with the strict policies refuses. */
export async function strictRefusals(relayer: string): Promise<readonly SolanaRefusal[]> {
  const plain = [transferOf(address(relayer), to.address, 5n)];
  const forbiddenTransfer = transferInstruction(relayer, forbidden.address, 5n);
  const long = { ...transferInstruction(relayer, to.address, 5n), data: Buffer.alloc(600, 2).toString('base64') };
  const threeSigners = [transferOf(other.address, to.address, 5n), transferOf(third.address, to.address, 5n)];
  return [
    {
      what: 'a program',
      request: { instructions: [memo()] },
      sentence: `instructions calls the program ${memoProgram}, which is not in the relayer's allowed_programs`,
      reason: 'RECEIVER_NOT_ALLOWED',
    },
    {
      what: 'an account',
      request: { instructions: [forbiddenTransfer] },
      sentence: `instructions uses the account ${forbidden.address}, which is in the relayer's disallowed_accounts`,
      reason: 'RECEIVER_NOT_ALLOWED',
    },
    {
      what: 'an account of a transaction',
      request: { transaction: await builtTransaction(relayer, [transferOf(address(relayer), forbidden.address, 5n)]) },
      sentence: `transaction uses the account ${forbidden.address}, which is in the relayer's disallowed_accounts`,
      reason: 'RECEIVER_NOT_ALLOWED',
    },
    {
      what: 'a change of its account',
      request: { transaction: await builtTransaction(relayer, [assignOf(relayer)]) },
      sentence: `transaction has an instruction 0 that takes away what ${relayer}, the relayer's account, can do (assign), which the relayer's allow_account_changes does not name`,
      reason: 'RECEIVER_NOT_ALLOWED',
    },
    {
      what: 'signatures',
      request: { transaction: await builtTransaction(relayer, threeSigners, { signers: [other, third] }) },
      sentence: "transaction needs 3 signatures; the relayer's max_signatures allows at most 2",
    },
    {
      what: 'size',
      request: { instructions: [long] },
      sentence: "instructions takes 804 bytes as a transaction; the relayer's max_tx_data_size allows at most 700",
    },
    {
      what: 'a fee',
      request: { transaction: await builtTransaction(relayer, [...plain, unitLimitOf(100_000), unitPriceOf(70_001n)]) },
      sentence: "transaction costs a fee of 12001 lamports; the relayer's max_allowed_fee_lamports allows at most 12000",
    },
    {
      what: 'a fee without a limit',
      request: { transaction: await builtTransaction(relayer, [...plain, unitPriceOf(1_166_667n)]) },
      sentence: "transaction costs a fee of 12001 lamports; the relayer's max_allowed_fee_lamports allows at most 12000",
    },
  ];
}

/** Gives the account to a program. */
function assignOf(account: string): Instruction {
  const data = Buffer.alloc(36);
  data.writeUInt32LE(1);
  return { programAddress: address(systemProgram), accounts: [{ address: address(account), role: AccountRole.WRITABLE_SIGNER }], data };
}

/** The number of accounts, in two bytes where one is enough. */
function longLength(transaction: string): string {
  const bytes = Buffer.from(transaction, 'base64');
  const at = 65 + 3;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from([(bytes[at] ?? 0) | 0x80, 0]), bytes.subarray(at + 1)]).toString('base64');
}
