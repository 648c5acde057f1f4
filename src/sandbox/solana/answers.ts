import { getBase58Decoder } from '@solana/kit';
import type { Block, Commitment, Landed } from './chain.js';
import type { CallOptions } from './params.js';
import { invalidParams, unsupportedVersion } from './rpc-error.js';
import type { AccountState, Execution } from './runtime.js';

const base58 = getBase58Decoder();
/** The rent epoch of rent-exempt accounts. */
const neverRented = 2n ** 64n - 1n;

/** Encodes an account for `getAccountInfo`. */
export function accountAnswer(account: AccountState | null, { encoding = 'base58', dataSlice }: CallOptions): unknown {
  if (account === null) return null;
  const { lamports, owner, executable } = account;
  const { offset, length } = (dataSlice ?? { offset: 0, length: account.data.length }) as { offset: number; length: number };
  const data = encoded(account.data.subarray(offset, offset + length), encoding);
  return { lamports, owner, executable, rentEpoch: neverRented, space: account.data.length, data };
}

function encoded(data: Uint8Array, encoding: unknown): readonly [string, string] {
  // This chain has no parsed form; a real node falls back to base64 as well.
  if (encoding === 'base64' || encoding === 'jsonParsed') return [Buffer.from(data).toString('base64'), 'base64'];
  if (encoding !== 'base58') throw invalidParams(`unsupported encoding: ${String(encoding)}`);
  if (data.length > 128) {
    throw invalidParams('Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.');
  }
  return [base58.decode(data), 'base58'];
}

/** Encodes a simulation for `simulateTransaction` and for the data of a failed preflight. */
export function simulationAnswer({ error, logs, unitsConsumed }: Execution) {
  const none = {
    accounts: null,
    innerInstructions: null,
    postBalances: null,
    preBalances: null,
    replacementBlockhash: null,
    returnData: null,
  };
  return { err: error, logs, unitsConsumed, ...none };
}

/** Encodes the calls that programs made in a simulation, in the form that a node gives to programs that it cannot parse. */
export function innerAnswer({ inner = [] }: Execution): unknown {
  return inner.map(({ index, calls }) => ({
    index,
    instructions: calls.map(({ program, accounts, data, depth }) => ({
      programId: program,
      accounts,
      data: base58.decode(data),
      stackHeight: depth,
    })),
  }));
}

/** Encodes an entry of `getSignatureStatuses`. */
export function statusAnswer({ slot, error }: Pick<Landed, 'slot' | 'error'>, blocksOnTop: number, commitment: Commitment): unknown {
  return {
    slot,
    confirmations: commitment === 'finalized' ? null : blocksOnTop,
    err: error,
    status: error === null ? { Ok: null } : { Err: error },
    confirmationStatus: commitment,
  };
}

/** Encodes a transaction for `getTransaction`, in binary encodings only. */
export function transactionAnswer(landed: Landed, block: Block | undefined, options: CallOptions): unknown {
  const { transaction, slot, error, logs, unitsConsumed, lamportsBefore, lamportsAfter } = landed;
  const { version } = transaction.message;
  if (version !== 'legacy' && !(typeof options.maxSupportedTransactionVersion === 'number')) throw unsupportedVersion(version);
  const { encoding } = options;
  if (encoding !== 'base64' && encoding !== 'base58') throw invalidParams(`unsupported encoding: ${String(encoding ?? 'json')}`);
  const text = encoding === 'base64' ? Buffer.from(transaction.bytes).toString('base64') : base58.decode(transaction.bytes);
  return {
    slot,
    blockTime: block?.unixSeconds ?? null,
    transaction: [text, encoding],
    ...(options.maxSupportedTransactionVersion === undefined ? {} : { version }),
    meta: {
      err: error,
      status: error === null ? { Ok: null } : { Err: error },
      fee: transaction.feeLamports,
      preBalances: lamportsBefore,
      postBalances: lamportsAfter,
      preTokenBalances: [],
      postTokenBalances: [],
      innerInstructions: [],
      logMessages: logs,
      loadedAddresses: { readonly: [], writable: [] },
      computeUnitsConsumed: unitsConsumed,
      rewards: [],
    },
  };
}
