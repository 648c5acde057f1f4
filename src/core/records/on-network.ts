import type { NetworkType } from './network.js';

/**
 * Narrows a value to the shape of its network. Throws if the value has another shape: the caller works on that network, so a mismatch is a
 * fault of the service, never of a user.
 */
export function onNetwork<N extends NetworkType, T extends { readonly network: NetworkType }>(
  network: N,
  value: T,
): Extract<T, { readonly network: N }> {
  if (value.network !== network) throw new Error(`expected a value for network type ${network}, got ${value.network}`);
  return value as Extract<T, { readonly network: N }>;
}
