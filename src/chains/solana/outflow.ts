import { systemProgram } from './address.js';
import type { CompiledInstruction, Message } from './wire.js';

/** Returns the lamports that system program instructions of a message move out of an account. Other programs are not visible. */
export function outflowLamports(message: Message, account: string): bigint {
  let total = 0n;
  for (const instruction of message.instructions) {
    const payment = systemPaymentBy(message, instruction);
    // A transfer to itself costs nothing.
    if (payment?.from === account && payment.to !== account) total += payment.lamports ?? 0n;
  }
  return total;
}

/** See `Chain.receiversOf`: the accounts that system program instructions pay. One that a lookup table names is not visible. */
export function paidAccounts(message: Message): readonly string[] {
  return message.instructions.flatMap((instruction) => systemPaymentBy(message, instruction)?.to ?? []);
}

/** An instruction of the system program that pays an account. */
interface PayingInstruction {
  /** The places of the accounts among the instruction's. */
  readonly from: number;
  readonly to: number;
  /** Returns the offset of the lamports in the data; null: they are not there. */
  lamportsAt(data: Buffer): number | null;
}

const first = () => 4;

/** By their numbers. */
const paying: ReadonlyMap<number, PayingInstruction> = new Map([
  // Creates an account; transfers.
  [0, { from: 0, to: 1, lamportsAt: first }],
  [2, { from: 0, to: 1, lamportsAt: first }],
  [3, { from: 0, to: 1, lamportsAt: afterSeed }],
  // From a nonce account, and from an account with a seed.
  [5, { from: 0, to: 1, lamportsAt: first }],
  [11, { from: 0, to: 2, lamportsAt: first }],
  // SIMD-0312 creates an account that has a balance.
  [13, { from: 1, to: 0, lamportsAt: first }],
]);
/** The highest number that this table was written for: the others up to it pay nothing. */
const highestKnown = 13;

/** After the base come the seed's length (8 bytes) and the seed. */
function afterSeed(data: Buffer): number | null {
  const seedBytes = data.length < 44 ? null : data.readBigUInt64LE(36);
  return seedBytes === null || seedBytes > BigInt(data.length) ? null : 44 + Number(seedBytes);
}

/** A payment of the system program. An account is undefined if a lookup table names it. */
interface SystemPayment {
  readonly from: string | undefined;
  readonly to: string | undefined;
  /** Null: the data is too short. */
  readonly lamports: bigint | null;
}

/** True for an instruction of the system program that is known to pay nothing. */
export function paysNothing({ accounts }: Message, { program, data }: CompiledInstruction): boolean {
  if (accounts[program] !== systemProgram || data.length < 4) return false;
  const tag = Buffer.from(data).readUInt32LE(0);
  return tag <= highestKnown && !paying.has(tag);
}

/** Returns what an instruction of the system program pays; null: it is none that pays. */
export function systemPaymentBy({ accounts }: Message, { program, accounts: used, data }: CompiledInstruction): SystemPayment | null {
  if (accounts[program] !== systemProgram || data.length < 4) return null;
  const bytes = Buffer.from(data);
  const instruction = paying.get(bytes.readUInt32LE(0));
  if (instruction === undefined) return null;
  const at = instruction.lamportsAt(bytes);
  const accountAt = (place: number): string | undefined => accounts[used[place] ?? accounts.length];
  const lamports = at === null || bytes.length < at + 8 ? null : bytes.readBigUInt64LE(at);
  return { from: accountAt(instruction.from), to: accountAt(instruction.to), lamports };
}
