import { getAddressDecoder } from '@solana/kit';
import { listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { lookupTableProgram } from './address.js';
import { atSlotFrom, textFrom } from './answer.js';
import type { TableLookup } from './wire.js';

/** The header before the addresses: kind, deactivation and last extension slots, authority. */
const tableHeaderBytes = 56;
const keyBytes = 32;

/**
 * Reads the accounts that a v0 message loads from lookup tables, which only ever grow; `problem` if an account does not exist. The node
 * must have reached `slot`. Throws `NODE_UNAVAILABLE`.
 */
export async function lookUpAccounts(
  rpc: Rpc,
  tables: readonly TableLookup[],
  slot: bigint,
): Promise<readonly string[] | { readonly problem: string }> {
  const keys = tables.map(({ table }) => table);
  const params = [keys, { encoding: 'base64', commitment: 'processed', minContextSlot: Number(slot) }];
  const contents = await rpc.ask({ method: 'getMultipleAccounts', params, read: tablesFrom }, { first: 'head' });
  const found: string[] = [];
  for (const [at, { table, writable, readonly }] of tables.entries()) {
    const addresses = contents[at];
    if (addresses === undefined || addresses === null) return { problem: `uses ${table}, which is not an address lookup table` };
    for (const index of [...writable, ...readonly]) {
      const key = addresses.subarray(index * keyBytes, (index + 1) * keyBytes);
      if (key.length < keyBytes) return { problem: `uses index ${index} of the address lookup table ${table}, which has no such entry` };
      found.push(getAddressDecoder().decode(key));
    }
  }
  return found;
}

/** Returns the address bytes of each table; null if it is not a table. */
function tablesFrom(answer: unknown): readonly (Uint8Array | null)[] {
  return atSlotFrom(answer, 'accounts', (value) => listFrom(value, 'accounts').map(addressesFrom)).value;
}

function addressesFrom(account: unknown): Uint8Array | null {
  if (account === null) return null;
  const { owner, data } = objectFrom(account, 'account');
  const [text, encoding] = listFrom(data, 'account data');
  if (encoding !== 'base64') throw new MalformedAnswerError('account data');
  return owner === lookupTableProgram ? Buffer.from(textFrom(text, 'account data'), 'base64').subarray(tableHeaderBytes) : null;
}
