import { systemProgram } from './address.js';
import type { Message } from './wire.js';

/** Instructions of the system program that move lamports out of their first account. */
const createAccount = 0;
const transfer = 2;
const createAccountWithSeed = 3;

/** Returns the lamports that system program instructions of a message move out of an account. Other programs are not visible. */
export function outflowLamports({ accounts, instructions }: Message, account: string): bigint {
  let total = 0n;
  for (const { program, accounts: used, data } of instructions) {
    const from = used[0];
    if (accounts[program] !== systemProgram || from === undefined || accounts[from] !== account) continue;
    // A transfer to itself costs nothing.
    const to = used[1];
    if (to !== undefined && accounts[to] === account) continue;
    total += movedBy(Buffer.from(data));
  }
  return total;
}

/** The instructions of the system program that pay an account, and its place among theirs. */
const paidPlaces: ReadonlyMap<number, number> = new Map([
  [createAccount, 1],
  [transfer, 1],
  [createAccountWithSeed, 1],
  // From a nonce account, and from an account with a seed.
  [5, 1],
  [11, 2],
]);

/** See `Chain.receiversOf`: the accounts that system program instructions pay. One that a lookup table names is not visible. */
export function paidAccounts({ accounts, instructions }: Message): readonly string[] {
  return instructions.flatMap(({ program, accounts: used, data }) => {
    if (accounts[program] !== systemProgram || data.length < 4) return [];
    const place = used[paidPlaces.get(Buffer.from(data).readUInt32LE(0)) ?? used.length];
    const to = place === undefined ? undefined : accounts[place];
    return to === undefined ? [] : [to];
  });
}

function movedBy(data: Buffer): bigint {
  const at = lamportsAt(data);
  return at === null || data.length < at + 8 ? 0n : data.readBigUInt64LE(at);
}

/** Returns the offset of the lamports in the data; null if it moves none. */
function lamportsAt(data: Buffer): number | null {
  switch (data.length < 4 ? null : data.readUInt32LE(0)) {
    case createAccount:
    case transfer:
      return 4;
    case createAccountWithSeed: {
      // After the base come the seed's length (8 bytes) and the seed.
      const seedBytes = data.length < 44 ? null : data.readBigUInt64LE(36);
      return seedBytes === null || seedBytes > BigInt(data.length) ? null : 44 + Number(seedBytes);
    }
    default:
      return null;
  }
}
