import type { PageOf, PageQuery, Reads } from '../ports/store.js';
import { type ApiKey, mayManageKey } from './api-key.js';
import type { Principal } from './principal.js';

/** A page of the keys that the caller may manage, newest first; past the end an empty one, with the true total. */
export async function listApiKeys(
  { store }: { readonly store: { readonly read: Pick<Reads, 'apiKeys'> } },
  { offset, limit }: PageQuery,
  caller: Principal,
): Promise<PageOf<ApiKey>> {
  const own = (await store.read.apiKeys()).filter((key) => mayManageKey(caller, key));
  return { items: own.slice(offset, offset + limit), total: own.length };
}
