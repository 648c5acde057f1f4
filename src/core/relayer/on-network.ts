import type { NetworkType } from './network.js';

/**
 * The value in the shape of its network. Throws where it has another one: who asks is of that network, so a value of another is a fault of ours, never a
 * caller's.
 */
export function onNetwork<N extends NetworkType, T extends { readonly network: NetworkType }>(
  network: N,
  value: T,
): Extract<T, { readonly network: N }> {
  if (value.network !== network) throw new Error(`this is of a ${value.network} network, not ${network}`);
  return value as Extract<T, { readonly network: N }>;
}
