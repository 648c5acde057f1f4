import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { addressFromPublicKey } from '../../src/chains/solana/address.js';
import type { Ed25519Signer } from '../../src/core/ports/signer.js';
import type { SolanaNetwork } from '../../src/core/records/network.js';
import type { Relayer, SolanaPolicies } from '../../src/core/records/relayer.js';
import type { SolanaInstruction, SolanaRequest } from '../../src/core/records/solana.js';

/** A Solana cluster with quick blocks. */
export function solanaNetwork(changes: Partial<SolanaNetwork> = {}): SolanaNetwork {
  return {
    name: 'test-cluster',
    type: 'solana',
    rpcUrls: [],
    requiredConfirmations: 1,
    averageBlockTimeMs: 400,
    symbol: 'SOL',
    isTestnet: true,
    tags: [],
    explorerUrls: [],
    ...changes,
  };
}

/** Policies that forbid nothing. */
function solanaPolicies(changes: Partial<SolanaPolicies> = {}): SolanaPolicies {
  return {
    network: 'solana',
    minBalanceLamports: 0n,
    maxAllowedFeeLamports: null,
    allowedPrograms: null,
    allowedAccounts: null,
    disallowedAccounts: [],
    maxSignatures: null,
    maxTxDataSizeBytes: 1232,
    allowAccountChanges: [],
    rules: null,
    signing: null,
    ...changes,
  };
}

/** A relayer on a Solana cluster. */
export function solanaRelayer(address: string, policies: Partial<SolanaPolicies> = {}, network: Partial<SolanaNetwork> = {}): Relayer {
  return {
    id: 'r1',
    name: 'Relayer One',
    network: solanaNetwork(network),
    networkType: 'solana',
    address,
    signerId: 's1',
    notificationId: null,
    customRpcUrls: [],
    paused: false,
    disabledReason: null,
    policiesVersion: 1,
    policiesLocked: false,
    policies: solanaPolicies(policies),
  };
}

/** A signer and its address. */
export interface SolanaKey {
  readonly signer: Ed25519Signer;
  readonly address: string;
}

/** Makes a new key, or the one of a seed of 32 bytes. */
export function solanaKey(seed?: Uint8Array): SolanaKey {
  const privateKey = seed === undefined ? generateKeyPairSync('ed25519').privateKey : privateKeyOf(seed);
  const bytes = publicKeyBytes(createPublicKey(privateKey));
  const signer: Ed25519Signer = {
    id: 's1',
    curve: 'ed25519',
    publicKey: bytes,
    sign: async (message) => new Uint8Array(sign(null, message, privateKey)),
  };
  return { signer, address: addressFromPublicKey(bytes) };
}

/** The DER prefix of an ed25519 private key (RFC 8410, section 7). */
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex');

function privateKeyOf(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([privateKeyPrefix, seed]), format: 'der', type: 'pkcs8' });
}

function publicKeyBytes(key: KeyObject): Uint8Array {
  return new Uint8Array(Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url'));
}

/** A request with these fields and no others. */
export function solanaRequest(changes: Partial<SolanaRequest> = {}): SolanaRequest {
  return { network: 'solana', transaction: undefined, instructions: [], validUntilMs: undefined, ...changes };
}

/** An instruction of the system program that moves lamports. */
export function transferInstruction(from: string, to: string, lamports: bigint): SolanaInstruction {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(2, 0);
  data.writeBigUInt64LE(lamports, 4);
  return {
    programId: '11111111111111111111111111111111',
    accounts: [
      { pubkey: from, isSigner: true, isWritable: true },
      { pubkey: to, isSigner: false, isWritable: true },
    ],
    data: data.toString('base64'),
  };
}
