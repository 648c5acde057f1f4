import { getAddressDecoder } from '@solana/kit';
import { listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { lookupTableProgram } from './address.js';
import { atSlotFrom, textFrom } from './answer.js';
import type { TableLookup } from './wire.js';

/** Before a table's addresses: its kind, when it was shut and last extended, and who may do so. */
const tableHeaderBytes = 56;
const keyBytes = 32;

/**
 * The accounts that a v0 message loads from tables, as the tables are now; they only ever grow. A sentence where one cannot be looked up.
 * `slot`: that the node must have reached. Throws `NODE_UNAVAILABLE`.
 */
export async function lookUpAccounts(
  rpc: Rpc,
  tables: readonly TableLookup[],
  slot: bigint,
): Promise<readonly string[] | { readonly problem: string }> {
  const keys = tables.map(({ table }) => table);
  const params = [keys, { encoding: 'base64', commitment: 'processed', minContextSlot: Number(slot) }];
  const held = await rpc.ask('getMultipleAccounts', params, tablesFrom, { first: 'head' });
  const found: string[] = [];
  for (const [at, { table, writable, readonly }] of tables.entries()) {
    const addresses = held[at];
    if (addresses === undefined || addresses === null) return { problem: `looks accounts up in ${table}, which is no table` };
    for (const index of [...writable, ...readonly]) {
      const key = addresses.subarray(index * keyBytes, (index + 1) * keyBytes);
      if (key.length < keyBytes) return { problem: `looks up account ${index} of the table ${table}, which has no such account` };
      found.push(getAddressDecoder().decode(key));
    }
  }
  return found;
}

/** The bytes of each table's addresses; null where there is no table. */
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
