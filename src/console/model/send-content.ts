import { create } from '@bufbuild/protobuf';
import { base64Decode } from '@bufbuild/protobuf/wire';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { type EvmTransaction, EvmTransactionRequestSchema, Speed } from '../../../gen/relayer/v1/evm_pb.js';
import { type SolanaInstruction, SolanaInstructionSchema, SolanaTransactionRequestSchema } from '../../../gen/relayer/v1/solana_pb.js';
import {
  type MemoSpec,
  MemoSpecSchema,
  type OperationSpec,
  OperationSpecSchema,
  StellarTransactionRequestSchema,
} from '../../../gen/relayer/v1/stellar_pb.js';
import type { SendTransactionRequest } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { parseUnits, type Unit } from '../text/amounts.js';
import { amountInput, pathsOf, type TypedAmount } from './form.js';
import { timeFromLocal } from './local-time.js';

/** The content of a transaction, in the shape of a network. */
export type SendContent = SendTransactionRequest['transaction'];

/** The form of an EVM transaction, as it was typed. */
export interface EvmDraft {
  readonly to: string;
  readonly value: TypedAmount;
  readonly data: string;
  readonly gasLimit: string;
  readonly pricing: 'speed' | 'fees' | 'legacy';
  readonly speed: Speed;
  readonly maxFeePerGas: TypedAmount;
  readonly maxPriorityFeePerGas: TypedAmount;
  readonly gasPrice: TypedAmount;
  readonly validUntil: string;
}

/** One payment on Stellar, as it was typed. */
export interface PaymentDraft {
  readonly destination: string;
  readonly amount: string;
  readonly isNative: boolean;
  readonly code: string;
  readonly issuer: string;
}

/** The form of a Stellar transaction, as it was typed. */
export interface StellarDraft {
  readonly kind: 'payments' | 'xdr';
  readonly payments: readonly PaymentDraft[];
  readonly memoKind: 'none' | 'text' | 'id' | 'hash' | 'returnHash';
  readonly memo: string;
  readonly transactionXdr: string;
  readonly feeBump: boolean;
  readonly maxFee: TypedAmount;
  readonly validUntil: string;
}

/** The form of a Solana transaction, as it was typed. */
export interface SolanaDraft {
  readonly kind: 'transaction' | 'instructions';
  readonly transaction: string;
  readonly instructions: string;
  readonly validUntil: string;
}

/** What a form says, or what is wrong with it: a sentence for each field, by the name of the draft's property. */
export type Built = { readonly content: SendContent } | { readonly problems: Readonly<Record<string, string>> };

/** The unit in which prices per gas are shown. */
export const gwei: Unit = { name: 'gwei', decimals: 9 };

/** An empty form of an EVM transaction. `unit`: the unit of its value. */
export function emptyEvm(unit: Unit): EvmDraft {
  const price = { text: '', unit: gwei };
  const prices = { speed: Speed.FAST, maxFeePerGas: price, maxPriorityFeePerGas: price, gasPrice: price };
  return { to: '', value: { text: '0', unit }, data: '', gasLimit: '', pricing: 'speed', ...prices, validUntil: '' };
}

/** The content of a record in the form. `unit`: the unit of its value. */
export function evmDraftOf(content: EvmTransaction, unit: Unit): EvmDraft {
  const { to = '', value, data = '', gasLimit, speed = Speed.FAST } = content;
  return { ...emptyEvm(unit), to, value: amountInput(BigInt(value), unit), data, gasLimit: gasLimit?.toString() ?? '', speed };
}

/** An empty form of a Stellar transaction. `unit`: the unit of its fee. */
export function emptyStellar(unit: Unit): StellarDraft {
  const maxFee = { text: '', unit };
  return {
    kind: 'payments',
    payments: [emptyPayment],
    memoKind: 'none',
    memo: '',
    transactionXdr: '',
    feeBump: false,
    maxFee,
    validUntil: '',
  };
}

/** An empty form of a Solana transaction. */
export const emptySolana: SolanaDraft = { kind: 'transaction', transaction: '', instructions: '', validUntil: '' };

/** An empty payment. */
export const emptyPayment: PaymentDraft = { destination: '', amount: '', isNative: true, code: '', issuer: '' };

/** The unit of every asset on Stellar. */
const stellarUnit = (name: string): Unit => ({ name, decimals: 7 });

/**
 * Reads the form of an EVM transaction. It checks only what the request cannot hold, such as an amount that is no number: the rest is the
 * service's to judge, with sentences that name the limits.
 */
export function buildEvm(draft: EvmDraft): Built {
  const check = new Check();
  const value = check.amount('value', draft.value);
  const gasLimit = check.integer('gasLimit', draft.gasLimit);
  const validUntil = check.time('validUntil', draft.validUntil);
  const price =
    draft.pricing === 'speed'
      ? { speed: draft.speed }
      : draft.pricing === 'legacy'
        ? { gasPrice: check.amount('gasPrice', draft.gasPrice) }
        : {
            maxFeePerGas: check.amount('maxFeePerGas', draft.maxFeePerGas),
            maxPriorityFeePerGas: check.amount('maxPriorityFeePerGas', draft.maxPriorityFeePerGas),
          };
  return check.result(() => ({
    case: 'evm',
    value: create(EvmTransactionRequestSchema, {
      ...(draft.to.trim() === '' ? {} : { to: draft.to.trim() }),
      value,
      ...(draft.data.trim() === '' ? {} : { data: draft.data.trim() }),
      ...(gasLimit === undefined ? {} : { gasLimit }),
      ...price,
      ...(validUntil === undefined ? {} : { validUntil }),
    }),
  }));
}

/** Reads the form of a Stellar transaction. `network` is the name of the relayer's network, which the request must state. */
export function buildStellar(draft: StellarDraft, network: string): Built {
  const check = new Check();
  const operations: OperationSpec[] = [];
  let memo: MemoSpec | undefined;
  if (draft.kind === 'payments') {
    draft.payments.forEach((payment, index) => {
      operations.push(paymentFrom(payment, check, index));
    });
    memo = memoFrom(draft, check);
  } else if (draft.transactionXdr.trim() === '') check.note('transactionXdr', 'enter an envelope');
  const maxFee = draft.maxFee.text.trim() === '' ? undefined : check.amount('maxFee', draft.maxFee);
  const validUntil = check.time('validUntil', draft.validUntil);
  return check.result(() => ({
    case: 'stellar',
    value: create(StellarTransactionRequestSchema, {
      network,
      operations,
      ...(memo === undefined ? {} : { memo }),
      ...(draft.kind === 'xdr' ? { transactionXdr: draft.transactionXdr.trim(), ...(draft.feeBump ? { feeBump: true } : {}) } : {}),
      ...(maxFee === undefined ? {} : { maxFee: BigInt(maxFee) }),
      ...(validUntil === undefined ? {} : { validUntil }),
    }),
  }));
}

function paymentFrom({ destination, amount, isNative, code, issuer }: PaymentDraft, check: Check, index: number): OperationSpec {
  const stroops = check.amount(`payments.${index}.amount`, { text: amount, unit: stellarUnit(isNative ? 'XLM' : code || 'the asset') });
  const credit = { code: code.trim(), issuer: issuer.trim() };
  return create(OperationSpecSchema, {
    operation: {
      case: 'payment',
      value: {
        destination: destination.trim(),
        amount: check.long(`payments.${index}.amount`, BigInt(stroops)),
        asset: {
          asset: isNative
            ? { case: 'native', value: {} }
            : credit.code.length > 4
              ? { case: 'credit12', value: credit }
              : { case: 'credit4', value: credit },
        },
      },
    },
  });
}

function memoFrom({ memoKind, memo }: StellarDraft, check: Check): MemoSpec | undefined {
  if (memoKind === 'none') return undefined;
  if (memoKind === 'text') return create(MemoSpecSchema, { memo: { case: 'text', value: memo } });
  if (memoKind === 'id') {
    const id = check.integer('memo', memo, 2n ** 64n - 1n) ?? check.note('memo', 'enter a number');
    return create(MemoSpecSchema, { memo: { case: 'id', value: id ?? 0n } });
  }
  const bytes = bytesFrom(memo) ?? check.note('memo', 'enter hexadecimal digits');
  return create(MemoSpecSchema, { memo: { case: memoKind, value: bytes ?? new Uint8Array() } });
}

/** Reads the form of a Solana transaction. */
export function buildSolana(draft: SolanaDraft): Built {
  const check = new Check();
  let instructions: SolanaInstruction[] = [];
  if (draft.kind === 'transaction') {
    if (draft.transaction.trim() === '') check.note('transaction', 'enter a transaction');
  } else {
    try {
      instructions = instructionsFrom(JSON.parse(draft.instructions));
    } catch (error) {
      check.note('instructions', error instanceof Error ? error.message : String(error));
    }
  }
  const validUntil = check.time('validUntil', draft.validUntil);
  return check.result(() => ({
    case: 'solana',
    value: create(SolanaTransactionRequestSchema, {
      ...(draft.kind === 'transaction' ? { transaction: draft.transaction.trim() } : { instructions }),
      ...(validUntil === undefined ? {} : { validUntil }),
    }),
  }));
}

/**
 * Reads instructions in the form of the REST API. Throws, with a sentence, if they have another form. What they say is the service's to
 * judge.
 */
function instructionsFrom(json: unknown): SolanaInstruction[] {
  if (!Array.isArray(json) || json.length === 0) throw new Error('must be a JSON array of at least one instruction');
  return json.map((item: unknown, index) => {
    const { program_id: programId, accounts = [], data = '' } = membersOf(item, `[${index}]`, ['program_id', 'accounts', 'data']);
    if (!Array.isArray(accounts)) throw new Error(`[${index}].accounts must be an array`);
    return create(SolanaInstructionSchema, {
      programId: textOf(programId, `[${index}].program_id`),
      accounts: accounts.map((account: unknown, at) => {
        const path = `[${index}].accounts[${at}]`;
        const {
          pubkey,
          is_signer: isSigner = false,
          is_writable: isWritable = false,
        } = membersOf(account, path, ['pubkey', 'is_signer', 'is_writable']);
        if (typeof isSigner !== 'boolean' || typeof isWritable !== 'boolean')
          throw new Error(`${path} must have true or false as is_signer and is_writable`);
        return { pubkey: textOf(pubkey, `${path}.pubkey`), isSigner, isWritable };
      }),
      data: base64Decode(textOf(data, `[${index}].data`)),
    });
  });
}

/** Returns an object's members. A member that no field reads is a mistake: it may be misspelled. */
function membersOf(value: unknown, path: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${path} must be an object`);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new Error(`${path}.${unknown} is not a known field; known fields: ${known.join(', ')}`);
  return value as Readonly<Record<string, unknown>>;
}

function textOf(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new Error(`${path} must be a string`);
  return value;
}

/** Collects what is wrong with a form. */
class Check {
  readonly #problems: Record<string, string> = {};

  note(field: string, problem: string): undefined {
    this.#problems[field] ??= problem;
    return undefined;
  }

  /** Reads an amount; returns it in the smallest unit, as decimal digits. */
  amount(field: string, { text, unit }: TypedAmount): string {
    const parsed = parseUnits(text, unit);
    if ('amount' in parsed) return parsed.amount.toString();
    this.note(field, parsed.problem);
    return '0';
  }

  /** Reads digits; undefined: there are none. */
  integer(field: string, text: string, max = 2n ** 63n - 1n): bigint | undefined {
    const digits = text.replace(/[\s_]/g, '');
    if (digits === '') return undefined;
    if (!/^\d{1,20}$/.test(digits) || BigInt(digits) > max) return this.note(field, `must be an integer from 0 to ${max}`);
    return BigInt(digits);
  }

  /** Checks that the request can hold a number. */
  long(field: string, value: bigint): bigint {
    if (value <= 2n ** 63n - 1n) return value;
    this.note(field, 'is too large');
    return 0n;
  }

  /** Reads a local time of the browser; undefined: there is none. */
  time(field: string, text: string): Timestamp | undefined {
    if (text === '') return undefined;
    return timeFromLocal(text) ?? this.note(field, 'enter a date and a time');
  }

  result(content: () => SendContent): Built {
    return Object.keys(this.#problems).length > 0 ? { problems: this.#problems } : { content: content() };
  }
}

function bytesFrom(hex: string): Uint8Array<ArrayBuffer> | undefined {
  const [, digits] = /^(?:0x)?((?:[0-9a-fA-F]{2})+)$/.exec(hex.trim()) ?? [];
  return digits === undefined ? undefined : Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** The paths of the service's field errors, by the names of the form's fields. */
export const evmPaths = pathsOf(EvmTransactionRequestSchema.fields, 'evm.');

/** The same for Stellar, with the fields of each payment. */
export function stellarPaths({ payments }: StellarDraft): Readonly<Record<string, string>> {
  const { transactionXdr, feeBump, memo, maxFee, validUntil, operations } = StellarTransactionRequestSchema.field;
  const paths = { ...pathsOf([transactionXdr, feeBump, memo, maxFee, validUntil, operations], 'stellar.') };
  payments.forEach(({ code }, index) => {
    const payment = `stellar.operations[${index}].payment`;
    const credit = `${payment}.asset.${code.trim().length > 4 ? 'credit12' : 'credit4'}`;
    const of = { destination: payment, amount: payment, code: credit, issuer: credit };
    for (const [name, path] of Object.entries(of)) paths[`payments.${index}.${name}`] = `${path}.${name}`;
  });
  return paths;
}

/** The same for Solana. */
export const solanaPaths = pathsOf(SolanaTransactionRequestSchema.fields, 'solana.');
