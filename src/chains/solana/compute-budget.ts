import { computeBudgetProgram } from './address.js';
import { type CompiledInstruction, greatestAccounts, greatestInstructions, type Message, unsignedTransactionBytes } from './wire.js';

/** The most that one transaction may compute. */
export const greatestUnitLimit = 1_400_000;
/** What an instruction may compute where the transaction names no limit. */
const defaultUnitsPerInstruction = 200_000;

const setUnitLimit = 2;
const setUnitPrice = 3;
const microLamportsPerLamport = 1_000_000n;

/** What a message says of its own budget. */
export interface ComputeBudget {
  readonly unitLimit: number | null;
  readonly unitPriceMicroLamports: bigint | null;
}

/** Reads it; the last one counts, since nodes refuse two. */
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

/** What a message may compute: what it says, else what the runtime gives it at most. */
export function unitLimitOf({ accounts, instructions }: Message, { unitLimit }: ComputeBudget): number {
  const others = instructions.filter(({ program }) => accounts[program] !== computeBudgetProgram).length;
  return Math.min(greatestUnitLimit, unitLimit ?? others * defaultUnitsPerInstruction);
}

/** What a price comes to, in lamports. */
export function priorityFeeLamports(unitPriceMicroLamports: bigint, unitLimit: number): bigint {
  return (unitPriceMicroLamports * BigInt(unitLimit) + microLamportsPerLamport - 1n) / microLamportsPerLamport;
}

/**
 * The message with instructions for its budget added; null parts are not added. They go to the end, because programs may refer to other
 * instructions by their place. Null when there is no room for them.
 */
export function withComputeBudget(
  message: Message,
  { unitLimit, unitPriceMicroLamports }: ComputeBudget,
  greatestBytes: number,
): Message | null {
  const known = message.accounts.indexOf(computeBudgetProgram);
  const program = known === -1 ? message.accounts.length : known;
  const added: CompiledInstruction[] = [];
  if (unitLimit !== null) added.push({ program, accounts: [], data: unitLimitData(unitLimit) });
  if (unitPriceMicroLamports !== null) added.push({ program, accounts: [], data: unitPriceData(unitPriceMicroLamports) });
  const room = known === -1 ? withReadonlyProgram(message) : message;
  const budgeted = { ...room, instructions: [...room.instructions, ...added] };
  return fits(budgeted, greatestBytes) ? budgeted : null;
}

function withReadonlyProgram(message: Message): Message {
  const place = message.accounts.length;
  // Accounts from tables are counted after the message's own.
  const moved = (index: number): number => (index >= place ? index + 1 : index);
  return {
    ...message,
    accounts: [...message.accounts, computeBudgetProgram],
    readonlyOthers: message.readonlyOthers + 1,
    instructions: message.instructions.map((instruction) => ({ ...instruction, accounts: instruction.accounts.map(moved) })),
  };
}

function fits(message: Message, greatestBytes: number): boolean {
  const looked = message.tables.reduce((sum, { writable, readonly }) => sum + writable.length + readonly.length, 0);
  return (
    message.accounts.length + looked <= greatestAccounts &&
    message.instructions.length <= greatestInstructions &&
    unsignedTransactionBytes(message).length <= greatestBytes
  );
}

function unitLimitData(units: number): Uint8Array {
  const data = Buffer.alloc(5);
  data[0] = setUnitLimit;
  data.writeUInt32LE(units, 1);
  return new Uint8Array(data);
}

function unitPriceData(microLamports: bigint): Uint8Array {
  const data = Buffer.alloc(9);
  data[0] = setUnitPrice;
  data.writeBigUInt64LE(microLamports, 1);
  return new Uint8Array(data);
}

/** What the network has charged for a signature since its beginning. What it charges now is asked when a version is made. */
const signatureFeeLamports = 5_000n;

/** The fee that a message names: for its signatures, and its priority fee where it bids one. */
export function namedFeeLamports(message: Message): bigint {
  const budget = computeBudgetOf(message);
  const price = budget.unitPriceMicroLamports ?? 0n;
  return signatureFeeLamports * BigInt(message.signers) + priorityFeeLamports(price, unitLimitOf(message, budget));
}
