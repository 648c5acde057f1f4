import { getAddressDecoder } from '@solana/kit';
import type { CallOptions } from '../rpc/call-router.js';
import type { Rpc } from '../rpc/rpc.js';
import { questions } from './questions.js';
import type { TableLookup } from './wire.js';

const keyBytes = 32;

/**
 * Reads the accounts that a v0 message loads from lookup tables, which only ever grow; `problem` if an account does not exist. The node
 * must have reached `slot`. Throws `NODE_UNAVAILABLE`.
 */
export async function lookUpAccounts(
  rpc: Rpc,
  tables: readonly TableLookup[],
  slot: bigint,
  options: CallOptions = {},
): Promise<readonly string[] | { readonly problem: string }> {
  const keys = tables.map(({ table }) => table);
  const contents = await rpc.ask(questions.lookupTables(keys, slot), options);
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
