import { Transaction } from 'ethers/transaction';
import { DomainError, invalidField } from '../../core/errors/errors.js';
import type { SignedForCaller, SignForeign } from '../../core/ports/chain/requests.js';
import type { Signer } from '../../core/ports/signer.js';
import type { EvmContent, EvmPrice } from '../../core/records/evm.js';
import type { EvmNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer } from '../../core/records/relayer.js';
import { requireEvmPolicy } from '../../core/transaction/evm-policy.js';
import { maxTransactionGas } from './gas.js';
import { intrinsicGas } from './intrinsic-gas.js';

const field = 'unsigned_transaction';
/** Nodes take no larger transaction. */
const maxBytes = 128 * 1024;

/** What transactions to sign are checked against, besides the relayer's policies. */
export interface SigningLimits {
  readonly network: Pick<EvmNetwork, 'chainId' | 'name' | 'eip1559'>;
  /** The most that a transaction may pay for gas; null: no limit. */
  readonly maxFeeWei: bigint | null;
}

/** Signs callers' transactions. The callers are responsible for their nonces. */
export function createSignForeign(limits: SigningLimits): SignForeign {
  return {
    looksLikeOwn: true,
    check: (text, relayer) => void readTransactionToSign(limits, text, relayer),
    sign: (text, relayer, signer) => signForeignTransaction(limits, text, relayer, signer),
  };
}

/** Signs a caller's transaction (hex). Throws as `readTransactionToSign` does. */
async function signForeignTransaction(limits: SigningLimits, text: string, relayer: Relayer, signer: Signer): Promise<SignedForCaller> {
  const transaction = readTransactionToSign(limits, text, relayer);
  if (signer.curve !== 'secp256k1') throw new Error(`signer ${signer.id} has no secp256k1 key`);
  const { r, s, v } = await signer.signDigest(Buffer.from(transaction.unsignedHash.slice(2), 'hex'));
  transaction.signature = { r: `0x${r}`, s: `0x${s}`, v };
  const { serialized, hash } = transaction;
  if (hash === null) throw new Error('a signed transaction has no hash');
  return { transaction: serialized, signature: `${r}${s}${v.toString(16)}`, hash };
}

/**
 * Reads a caller's transaction, and checks what Send would check: its chain, its receiver, its price and its gas. Throws `DomainError`
 * (400) naming the field, also if the relayer's policy does not allow such signatures: the transaction can take the slot of another one.
 */
function readTransactionToSign({ network, maxFeeWei }: SigningLimits, text: string, relayer: Relayer): Transaction {
  if (text.length > 2 + 2 * maxBytes) throw invalidField(field, `must have at most ${maxBytes} bytes`);
  const policies = onNetwork('evm', relayer.policies);
  if (!policies.allowTransactionSigning) {
    const sentence = `relayer ${relayer.id} signs no transactions that it does not send; its policy allow_transaction_signing is false`;
    throw new DomainError('invalid', 'FIELD_INVALID', sentence);
  }
  const transaction = parsed(text);
  const { type, chainId, to, value, data, gasLimit } = transaction;
  if (type === 3) throw invalidField(field, 'carries blobs (EIP-4844, type 3), which the service does not sign');
  if (type === 4) throw invalidField(field, "delegates an account's code (EIP-7702, type 4), which the service does not sign");
  if (type !== 0 && type !== 2) throw invalidField(field, `has type ${type}; only legacy and EIP-1559 transactions are signed`);
  if (type === 2 && !network.eip1559) throw invalidField(field, `is an EIP-1559 transaction, which ${network.name} does not have`);
  if (transaction.signature !== null) throw invalidField(field, 'has a signature already');
  if (chainId !== network.chainId)
    throw invalidField(field, `is for chain ID ${chainId === 0n ? 'none' : chainId}; ${network.name} has chain ID ${network.chainId}`);
  if (to === null && data === '0x') throw invalidField(field, 'has neither a receiver nor data');
  const least = intrinsicGas(to === null, data);
  if (gasLimit < least || gasLimit > maxTransactionGas)
    throw invalidField(field, `has a gas limit of ${gasLimit}; it must be ${least} to ${maxTransactionGas}`);
  const pricing = priceOf(transaction);
  const content: Pick<EvmContent, 'to' | 'gasLimit' | 'pricing'> = { to, gasLimit, pricing };
  requireEvmPolicy(relayer, policies, content);
  const feeWei = (pricing.kind === 'legacy' ? pricing.gasPriceWei : pricing.maxFeePerGasWei) * gasLimit;
  if (maxFeeWei !== null && feeWei > maxFeeWei)
    throw invalidField(field, `may pay a fee of ${feeWei} wei, above MAX_FEE_PER_TRANSACTION (${maxFeeWei} wei)`);
  if (value >= 2n ** 128n) throw invalidField(field, 'has a value above 2^128-1 wei');
  return transaction;
}

function parsed(text: string): Transaction {
  if (text === '') throw invalidField(field, 'is required');
  try {
    return Transaction.from(text.startsWith('0x') ? text : `0x${text}`);
  } catch {
    throw invalidField(field, 'is not a serialized transaction');
  }
}

function priceOf({ type, gasPrice, maxFeePerGas, maxPriorityFeePerGas }: Transaction): EvmPrice {
  if (type === 0) return { kind: 'legacy', gasPriceWei: gasPrice ?? 0n };
  const [maxFeePerGasWei, maxPriorityFeePerGasWei] = [maxFeePerGas ?? 0n, maxPriorityFeePerGas ?? 0n];
  if (maxPriorityFeePerGasWei > maxFeePerGasWei) throw invalidField(field, 'has a max_priority_fee_per_gas above its max_fee_per_gas');
  return { kind: 'eip1559', maxFeePerGasWei, maxPriorityFeePerGasWei };
}
