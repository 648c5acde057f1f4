import type { ReadKeystore } from '../../src/config/signer-entries.js';
import type { Curve } from '../../src/core/records/network.js';
import type { Keystore } from '../../src/core/signer/signers.js';

/** Returns a valid configuration file with this change. */
export function sampleConfig(change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    networks: [sampleNetwork()],
    signers: [sampleSigner()],
    notifications: [sampleNotification()],
    relayers: [sampleRelayer()],
    ...change,
  };
}

/** A network of the file. */
export function sampleNetwork(change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    type: 'evm',
    network: 'anvil',
    chain_id: 31337,
    rpc_urls: ['http://127.0.0.1:8545'],
    required_confirmations: 1,
    average_blocktime_ms: 1000,
    symbol: 'ETH',
    ...change,
  };
}

/** A signer of the file. */
export function sampleSigner(change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { id: 'key', type: 'local', config: { path: 'keys/key.json', passphrase: { type: 'env', value: 'KEY_PASSPHRASE' } }, ...change };
}

/** A notification of the file. */
export function sampleNotification(change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { id: 'hook', type: 'webhook', url: 'https://hooks.example.com/x', ...change };
}

/** A relayer of the file. */
export function sampleRelayer(change: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { id: 'relayer-1', name: 'Relayer one', network: 'anvil', network_type: 'evm', paused: false, signer_id: 'key', ...change };
}

/** A keystore for every network, wherever it is looked for. */
export const anyKeystore: ReadKeystore = () => keystoreFor(['secp256k1', 'ed25519']);

/** A keystore for these curves, which cannot be opened. */
export function keystoreFor(curves: readonly Curve[]): Keystore {
  const only = (curve: Curve) => (curves.includes(curve) ? keystoreFor([curve]) : undefined);
  return { curves, only, open: () => Promise.reject(new Error('this keystore has no key')) };
}

/** The variables that the sample refers to. */
export const sampleEnv = { KEY_PASSPHRASE: 'correct horse', HOOK_KEY: 'a signing key' };
