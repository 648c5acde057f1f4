import { createPrivateKey, sign } from 'node:crypto';
import { Keypair } from '@stellar/stellar-sdk';
import type { Ed25519Signer } from '../../src/core/ports/signer.js';
import type { StellarNetwork } from '../../src/core/records/network.js';
import { defaultPolicies, type Relayer, type StellarPolicies } from '../../src/core/records/relayer.js';
import type { StellarOperation, StellarRequest } from '../../src/core/records/stellar.js';

/** The network of the local ledger. */
export function stellarNetwork(changes: Partial<StellarNetwork> = {}): StellarNetwork {
  return {
    name: 'local',
    type: 'stellar',
    passphrase: 'Standalone Network ; February 2017',
    rpcUrls: [],
    requiredConfirmations: 1,
    averageBlockTimeMs: 1_000,
    symbol: 'XLM',
    isTestnet: true,
    tags: [],
    explorerUrls: [],
    ...changes,
  };
}

/** A relayer on a Stellar network whose policies forbid nothing. */
export function stellarRelayer(address: string, policies: Partial<StellarPolicies> = {}, network: Partial<StellarNetwork> = {}): Relayer {
  return {
    id: 'r1',
    name: 'Relayer One',
    network: stellarNetwork(network),
    networkType: 'stellar',
    address,
    signerId: 's1',
    notificationId: null,
    customRpcUrls: [],
    paused: false,
    disabledReason: null,
    policiesVersion: 1,
    policiesLocked: false,
    policies: { ...defaultPolicies.stellar, minBalanceStroops: 0n, ...policies },
  };
}

/** A signer and its address. */
export interface StellarKey {
  readonly signer: Ed25519Signer;
  readonly address: string;
  readonly keys: Keypair;
}

/** The DER prefix of an ed25519 private key (RFC 8410, section 7). */
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Makes a new key, or the one of a seed of 32 bytes. */
export function stellarKey(seed?: Uint8Array): StellarKey {
  const keys = seed === undefined ? Keypair.random() : Keypair.fromRawEd25519Seed(Buffer.from(seed));
  // Much faster than the SDK's own signatures, which are the same.
  const privateKey = createPrivateKey({ key: Buffer.concat([privateKeyPrefix, keys.rawSecretKey()]), format: 'der', type: 'pkcs8' });
  const signer: Ed25519Signer = {
    id: 's1',
    curve: 'ed25519',
    publicKey: new Uint8Array(keys.rawPublicKey()),
    sign: async (message) => new Uint8Array(sign(null, message, privateKey)),
  };
  return { signer, address: keys.publicKey(), keys };
}

/** A request on the network `local` with these fields and no others. */
export function stellarRequest(changes: Partial<StellarRequest> = {}): StellarRequest {
  return {
    network: 'stellar',
    networkName: 'local',
    sourceAccount: undefined,
    operations: [],
    transactionXdr: undefined,
    memo: undefined,
    validUntilMs: undefined,
    feeBump: undefined,
    maxFeeStroops: undefined,
    ...changes,
  };
}

/** An operation that pays stroops. */
export function payment(destination: string, amount: bigint): StellarOperation {
  return { kind: 'payment', destination, amount, asset: { kind: 'native' } };
}
