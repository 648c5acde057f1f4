import type { SolanaPolicies } from '../../core/records/relayer.js';
import { computeBudgetProgram, systemProgram } from './address.js';
import { accountCount, type CompiledInstruction, type Message, maxAccounts, maxInstructions, unsignedTransactionBytes } from './wire.js';

/** The maximum number of compute units of a transaction. */
export const maxUnitLimit = 1_400_000;
/** The compute units of an instruction if the transaction sets no limit: of a builtin program (SIMD-0170) and of any other. */
const defaultUnits = { builtin: 3_000, other: 200_000 };
/** The builtin programs of Agave 3.1. Programs that became ordinary ones, such as the stake program, are not among them. */
const builtinPrograms: ReadonlySet<string> = new Set([
  systemProgram,
  computeBudgetProgram,
  'Vote111111111111111111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
]);

const setUnitLimit = 2;
const setUnitPrice = 3;
export const microLamportsPerLamport = 1_000_000n;

/** The compute budget that a message sets. */
export interface ComputeBudget {
  readonly unitLimit: number | null;
  readonly unitPriceMicroLamports: bigint | null;
}

/** Reads the compute budget of a message. Nodes reject duplicates, so the last instruction counts. */
export function computeBudgetOf({ accounts, instructions }: Message): ComputeBudget {
  let budget: ComputeBudget = { unitLimit: null, unitPriceMicroLamports: null };
  for (const { program, data } of instructions) {
    if (accounts[program] !== computeBudgetProgram) continue;
    const bytes = Buffer.from(data);
    if (bytes[0] === setUnitLimit && bytes.length >= 5) budget = { ...budget, unitLimit: bytes.readUInt32LE(1) };
    if (bytes[0] === setUnitPrice && bytes.length >= 9) budget = { ...budget, unitPriceMicroLamports: bytes.readBigUInt64LE(1) };
  }
  return budget;
}

/** Returns the compute unit limit of a message: its own or the runtime's default. */
export function unitLimitOf({ accounts, instructions }: Message, { unitLimit }: ComputeBudget): number {
  const isBuiltin = (program: number): boolean => builtinPrograms.has(accounts[program] ?? '');
  const units = instructions.reduce((sum, { program }) => sum + (isBuiltin(program) ? defaultUnits.builtin : defaultUnits.other), 0);
  return Math.min(maxUnitLimit, unitLimit ?? units);
}

/** Returns the priority fee, rounded up. */
export function priorityFeeLamports(unitPriceMicroLamports: bigint, unitLimit: number): bigint {
  return (unitPriceMicroLamports * BigInt(unitLimit) + microLamportsPerLamport - 1n) / microLamportsPerLamport;
}

/**
 * Adds compute budget instructions for the non-null parts; null if they do not fit. They go to the end, because programs may refer to other
 * instructions by index.
 */
export function withComputeBudget(
  message: Message,
  { unitLimit, unitPriceMicroLamports }: ComputeBudget,
  maxBytes: number,
): Message | null {
  const index = message.accounts.indexOf(computeBudgetProgram);
  const program = index === -1 ? message.accounts.length : index;
  const added: CompiledInstruction[] = [];
  if (unitLimit !== null) added.push({ program, accounts: [], data: unitLimitData(unitLimit) });
  if (unitPriceMicroLamports !== null) added.push({ program, accounts: [], data: unitPriceData(unitPriceMicroLamports) });
  const base = index === -1 ? withReadonlyProgram(message) : message;
  const budgeted = { ...base, instructions: [...base.instructions, ...added] };
  return fits(budgeted, maxBytes) ? budgeted : null;
}

function withReadonlyProgram(message: Message): Message {
  const { length } = message.accounts;
  // Accounts from lookup tables are numbered after the message's own.
  const moved = (index: number): number => (index >= length ? index + 1 : index);
  return {
    ...message,
    accounts: [...message.accounts, computeBudgetProgram],
    readonlyOthers: message.readonlyOthers + 1,
    instructions: message.instructions.map((instruction) => ({ ...instruction, accounts: instruction.accounts.map(moved) })),
  };
}

function fits(message: Message, maxBytes: number): boolean {
  if (accountCount(message) > maxAccounts || message.instructions.length > maxInstructions) return false;
  return unsignedTransactionBytes(message).length <= maxBytes;
}

function unitLimitData(units: number): Uint8Array {
  const data = Buffer.alloc(5, setUnitLimit);
  data.writeUInt32LE(units, 1);
  return new Uint8Array(data);
}

function unitPriceData(microLamports: bigint): Uint8Array {
  const data = Buffer.alloc(9, setUnitPrice);
  data.writeBigUInt64LE(microLamports, 1);
  return new Uint8Array(data);
}

/** The fee per signature since the network began. */
const signatureFeeLamports = 5_000n;
/** The programs that verify signatures, each of which costs as much; the data begins with their number. */
const verifyingPrograms: readonly string[] = [
  'KeccakSecp256k11111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
];

/** Returns the fee that a message implies: for its signatures and its own priority fee. */
export function namedFeeLamports(message: Message): bigint {
  const { accounts, instructions, signers } = message;
  const budget = computeBudgetOf(message);
  const price = budget.unitPriceMicroLamports ?? 0n;
  const verified = instructions
    .filter(({ program }) => verifyingPrograms.includes(accounts[program] ?? ''))
    .reduce((sum, { data }) => sum + (data[0] ?? 0), 0);
  return signatureFeeLamports * BigInt(signers + verified) + priorityFeeLamports(price, unitLimitOf(message, budget));
}

/** True if the fee follows from the message alone: the default limit of units depends on which programs the cluster has built in. */
export function impliesFee(message: Message): boolean {
  const { unitLimit, unitPriceMicroLamports } = computeBudgetOf(message);
  return unitLimit !== null || (unitPriceMicroLamports ?? 0n) === 0n;
}

/** The maximum priority fee without a policy, also of a caller's own price: no hostile node or market spike may drain the account. */
const maxPriorityFeeLamports = 10_000_000n;

/** Returns the maximum fee of a message: the relayer's policy, or the default. */
export function maxFeeOf({ maxAllowedFeeLamports }: SolanaPolicies, { signers }: Pick<Message, 'signers'>): bigint {
  return maxAllowedFeeLamports ?? signatureFeeLamports * BigInt(signers) + maxPriorityFeeLamports;
}

/** Describes a fee above the maximum, to follow the name of what costs it. */
export function excessOf(feeLamports: bigint, maxFeeLamports: bigint, { maxAllowedFeeLamports }: SolanaPolicies): string {
  const limit =
    maxAllowedFeeLamports === null
      ? `the default maximum is ${maxFeeLamports}: set the relayer's max_allowed_fee_lamports to ${feeLamports} or more`
      : `the relayer's max_allowed_fee_lamports allows at most ${maxFeeLamports}`;
  return `costs a fee of ${feeLamports} lamports; ${limit}`;
}
