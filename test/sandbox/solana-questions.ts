import { AccountRole, address, type Instruction } from '@solana/kit';
import { base64From } from '../../src/chains/solana/wire.js';
import { buildTransaction, signerOf, type TransactionParts } from '../../src/sandbox/solana/build-transaction.js';
import { transferOf, unitLimitOf, unitPriceOf } from '../../src/sandbox/solana/instructions.js';
import { solanaKey } from '../support/solana.js';
import { waitFor } from '../support/wait-for.js';

/** The answers of Agave's validator 3.1.12, which `npm run suite -- solana-validator --record` writes. */
export const recordedAnswers = new URL('../../../test/sandbox/agave-3.1.12.json', import.meta.url);

/** Rows about the Memo program, of which litesvm has a newer build with other logs and units than the validator. */
export const ofOtherBuilds = /(?:memo|longMemo|badText)$/;

/** A call that every node must answer alike. */
interface Question {
  readonly what: string;
  readonly method: string;
  readonly params: readonly unknown[] | object;
}

/** The values that differ between clusters. */
interface Cluster {
  readonly blockhash: string;
  /** The slot of a final block. */
  readonly slot: number;
  /** The signature of a successful transfer in a final block. */
  readonly landed: string;
}

const asker = await signerOf(40);
const receiver = (await signerOf(42)).address;
/** The lamports with which a cluster must begin. */
export const askedAccounts = [
  { address: asker.address, lamports: 10n ** 12n },
  { address: receiver, lamports: 10n ** 9n },
] as const;
/** Has no lamports. */
const poor = await signerOf(41);
const unknown = solanaKey().address;
const neverSent = '5'.repeat(87);

/** Sends every question to a node. Returns the forms of its answers. Its blocks must become final by themselves. */
export async function answersOf(url: string): Promise<Readonly<Record<string, unknown>>> {
  async function ask(method: string, params: Question['params']): Promise<Answer> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json() as Promise<Answer>;
  }
  const newestBlockhash = async (): Promise<string> =>
    ((await ask('getLatestBlockhash', [{ commitment: 'confirmed' }])).result as { value: { blockhash: string } }).value.blockhash;
  const instructions = [transferOf(asker.address, receiver, 5_000_001n)];
  const parts = { payer: asker.address, instructions, blockhash: await newestBlockhash(), signers: [asker] };
  const sent = [base64From(await buildTransaction(parts)), { encoding: 'base64', preflightCommitment: 'processed' }];
  const landed = String((await ask('sendTransaction', sent)).result);
  const slot = await waitFor(
    'a transfer to be final',
    async () => {
      const { value } = (await ask('getSignatureStatuses', [[landed]])).result as { value: readonly (Status | null)[] };
      return value[0]?.confirmationStatus === 'finalized' ? value[0].slot : undefined;
    },
    600_000,
  );
  const answers: Record<string, unknown> = {};
  for (const { what, method, params } of await questionsOf({ blockhash: await newestBlockhash(), slot, landed }))
    answers[what] = formOf(await ask(method, params));
  return answers;
}

interface Status {
  readonly slot: number;
  readonly confirmationStatus: string;
}

async function questionsOf({ blockhash, slot, landed }: Cluster): Promise<readonly Question[]> {
  const build = async (parts: Partial<TransactionParts> = {}): Promise<Buffer> => {
    const instructions = [transferOf(asker.address, receiver, 5_000_000n)];
    return Buffer.from(await buildTransaction({ payer: asker.address, instructions, blockhash, signers: [asker], ...parts }));
  };
  const transfer = transferOf(asker.address, receiver, 5_000_000n);
  const good = await build();
  const unsigned = await build({ signers: [] });
  const failing = {
    unsigned,
    tooMuch: await build({ instructions: [transferOf(asker.address, receiver, 10n ** 18n)] }),
    unpaid: await build({ payer: poor.address, signers: [poor], instructions: [transferOf(poor.address, receiver, 1n)] }),
    stale: await build({ blockhash: unknown }),
    starved: await build({ instructions: [unitLimitOf(100), transfer] }),
    twoLimits: await build({ instructions: [unitLimitOf(500), unitLimitOf(600), transfer] }),
    noProgram: await build({ instructions: [{ programAddress: address(unknown), accounts: [], data: new Uint8Array([1]) }] }),
    garbage: await build({ instructions: [{ ...transfer, data: new Uint8Array([99, 0, 0, 0]) }] }),
    twoPrices: await build({ instructions: [unitPriceOf(1n), unitPriceOf(2n), transfer] }),
    unknownBudget: await build({ instructions: [budgetOf(9), transfer] }),
    oddHeap: await build({ instructions: [budgetOf(1, 1_000), transfer] }),
    noRoomForAccounts: await build({ instructions: [budgetOf(4, 0), transfer] }),
    badText: await build({ instructions: [memoOf(Buffer.from([0xff]))] }),
    noTable: await build({ instructions: [fromTable(transfer, unknown)] }),
    rentless: await build({ instructions: [transferOf(asker.address, address(unknown), 1n)] }),
  };
  const working = {
    good,
    priced: await build({ instructions: [unitPriceOf(1_000_000n), transfer] }),
    memo: await build({ instructions: [memoOf(Buffer.from('hi'))] }),
    longMemo: await build({ instructions: [memoOf(Buffer.alloc(900, 'z')), transfer] }),
  };
  const base64 = { encoding: 'base64' };
  const processed = { ...base64, commitment: 'processed' };
  const preflight = { ...base64, preflightCommitment: 'processed' };
  const block = { transactionDetails: 'signatures', rewards: false, maxSupportedTransactionVersion: 0 };
  const far = 10 ** 9;
  const messageOf = (transaction: Buffer): string => base64From(transaction.subarray(65));
  const rows: readonly (readonly [string, string, Question['params']])[] = [
    ...Object.entries({ ...working, ...failing }).flatMap(([name, transaction]) => [
      [`simulating ${name}`, 'simulateTransaction', [base64From(transaction), processed]] as const,
      [`the fee of ${name}`, 'getFeeForMessage', [messageOf(transaction), { commitment: 'processed' }]] as const,
    ]),
    ...Object.entries(failing).map(
      ([name, transaction]) => [`sending ${name}`, 'sendTransaction', [base64From(transaction), preflight]] as const,
    ),
    ['verifying in a simulation', 'simulateTransaction', [base64From(unsigned), { ...processed, sigVerify: true }]],
    [
      'verifying with any blockhash',
      'simulateTransaction',
      [base64From(good), { ...processed, sigVerify: true, replaceRecentBlockhash: true }],
    ],
    ['replacing the blockhash', 'simulateTransaction', [base64From(failing.stale), { ...processed, replaceRecentBlockhash: true }]],
    ['a slot not reached', 'simulateTransaction', [base64From(good), { ...processed, minContextSlot: far }]],
    ['sending no base64', 'sendTransaction', ['not base64!', base64]],
    ['sending no transaction', 'sendTransaction', ['AAAA', base64]],
    ['sending too much', 'sendTransaction', ['A'.repeat(1648), base64]],
    ['sending a bad signature', 'sendTransaction', [base64From(badlySigned(good)), preflight]],
    ['sending a bad signature unchecked', 'sendTransaction', [base64From(badlySigned(good)), { ...base64, skipPreflight: true }]],
    ['sending in an unknown encoding', 'sendTransaction', [base64From(good), { encoding: 'hex' }]],
    ['the status of what landed', 'getSignatureStatuses', [[landed], { searchTransactionHistory: true }]],
    ['the status of what was never sent', 'getSignatureStatuses', [[neverSent], { searchTransactionHistory: true }]],
    ['the status of no signature', 'getSignatureStatuses', [['abc']]],
    ['too many statuses', 'getSignatureStatuses', [Array.from({ length: 257 }, () => neverSent)]],
    ['statuses without a list', 'getSignatureStatuses', []],
    ['statuses with empty options', 'getSignatureStatuses', [[neverSent], {}]],
    ['what landed', 'getTransaction', [landed, { ...base64, maxSupportedTransactionVersion: 0 }]],
    ['what landed, for a client without versions', 'getTransaction', [landed, base64]],
    ['what never landed', 'getTransaction', [neverSent, base64]],
    ['an unconfirmed transaction', 'getTransaction', [landed, processed]],
    ['a final block', 'getBlock', [slot, block]],
    ['a final block alone', 'getBlock', [slot, { ...block, transactionDetails: 'none' }]],
    ['a block to come', 'getBlock', [far, block]],
    ['an unconfirmed block', 'getBlock', [slot, { ...block, commitment: 'processed' }]],
    ['blocks', 'getBlocksWithLimit', [slot, 2, { commitment: 'finalized' }]],
    ['too many blocks', 'getBlocksWithLimit', [0, 500_001]],
    ['unconfirmed blocks', 'getBlocksWithLimit', [0, 2, { commitment: 'processed' }]],
    ['the epoch', 'getEpochInfo', [{ commitment: 'confirmed' }]],
    ['the newest blockhash', 'getLatestBlockhash', [{ commitment: 'confirmed' }]],
    ['the newest blockhash of a slot not reached', 'getLatestBlockhash', [{ minContextSlot: far }]],
    ['a valid blockhash', 'isBlockhashValid', [blockhash, { commitment: 'processed' }]],
    ['an invalid blockhash', 'isBlockhashValid', [unknown, { commitment: 'processed' }]],
    ['no blockhash', 'isBlockhashValid', ['abc']],
    ['a balance', 'getBalance', [asker.address]],
    ['no balance', 'getBalance', [unknown]],
    ['the balance of no account', 'getBalance', ['abc']],
    ['a balance without an account', 'getBalance', []],
    ['a balance at an unknown commitment', 'getBalance', [asker.address, { commitment: 'soon' }]],
    ['an account', 'getAccountInfo', [asker.address, base64]],
    ['no account', 'getAccountInfo', [unknown, base64]],
    ['accounts', 'getMultipleAccounts', [[asker.address, unknown], base64]],
    ['too many accounts', 'getMultipleAccounts', [Array.from({ length: 101 }, () => unknown), base64]],
    ['fees of too many accounts', 'getRecentPrioritizationFees', [Array.from({ length: 129 }, () => unknown)]],
    ['fees of no account', 'getRecentPrioritizationFees', [['abc']]],
    ['the fee of no message', 'getFeeForMessage', ['AAAA']],
    ['signatures of an account', 'getSignaturesForAddress', [receiver, { limit: 1 }]],
    ['health', 'getHealth', []],
    ['an unknown method', 'getNothing', []],
    ['parameters by name', 'getSlot', { commitment: 'final' }],
  ];
  return rows.map(([what, method, params]) => ({ what, method, params }));
}

/** The same transfer, whose receiver is in a lookup table. */
function fromTable({ accounts, ...rest }: ReturnType<typeof transferOf>, table: string): Instruction {
  const [from] = accounts ?? [];
  const to = { address: receiver, role: AccountRole.WRITABLE, lookupTableAddress: address(table), addressIndex: 0 };
  return { ...rest, accounts: from === undefined ? [to] : [from, to] };
}

/** An instruction of the compute budget program: its kind, and a value of 32 bits. */
function budgetOf(kind: number, value?: number): Instruction {
  const data = Buffer.alloc(value === undefined ? 1 : 5, kind);
  if (value !== undefined) data.writeUInt32LE(value, 1);
  return { programAddress: address('ComputeBudget111111111111111111111111111111'), data: new Uint8Array(data) };
}

function memoOf(text: Buffer): Instruction {
  return { programAddress: address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'), data: new Uint8Array(text) };
}

function badlySigned(transaction: Buffer): Buffer {
  const changed = Buffer.from(transaction);
  changed.writeUInt8(changed.readUInt8(5) ^ 1, 5);
  return changed;
}

/** A JSON-RPC answer. */
interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Returns the form of an answer: what must be alike, and for everything else its kind. */
function formOf({ error, result }: Answer): unknown {
  if (error === undefined) return kindOf(result);
  const { code, message, data } = error;
  return { code, message: message.replaceAll(/\d{2,}/g, '#'), ...(data === undefined ? {} : { data: kindOf(data) }) };
}

/** What the same question has on every cluster. */
const exactFields: readonly string[] = [
  ...['err', 'status', 'confirmationStatus', 'version'],
  ...['logs', 'logMessages', 'unitsConsumed', 'computeUnitsConsumed'],
];

/** Fields that the local network does not have, or only for transactions in blocks; its README names them. */
const unmodelled: readonly string[] = [
  ...['fee', 'costUnits', 'loadedAccountsDataSize', 'loadedAddresses'],
  ...['preTokenBalances', 'postTokenBalances'],
];

function kindOf(value: unknown, field = ''): unknown {
  if (exactFields.includes(field) || value === null || typeof value === 'boolean') return value;
  // How many there are depends on the cluster.
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return [...new Set(value.map((one) => typeof one))];
  if (Array.isArray(value)) return value.map((one) => kindOf(one));
  if (typeof value !== 'object') return typeof value;
  const fields = Object.entries(value).filter(([name]) => !unmodelled.includes(name));
  return Object.fromEntries(fields.map(([name, one]) => [name, kindOf(one, name)]));
}
