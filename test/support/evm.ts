import type { EvmChain } from '../../src/chains/evm/evm-chain.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { DraftRequest } from '../../src/core/ports/chain/drafts.js';
import type { BroadcastOutcome, Receipt } from '../../src/core/ports/chain/outcomes.js';
import type { EvmAttemptFields, EvmContent, EvmRequest } from '../../src/core/records/evm.js';
import type { EvmNetwork } from '../../src/core/records/network.js';
import { onNetwork } from '../../src/core/records/on-network.js';
import type { EvmPolicies, Relayer } from '../../src/core/records/relayer.js';
import type { Attempt } from '../../src/core/records/transaction.js';
import type { Log } from '../../src/core/work/log.js';

/** Returns the EVM fields of an attempt. Throws if there is no attempt. */
export function evmFieldsOf(attempt: Attempt | null | undefined): EvmAttemptFields {
  if (attempt === null || attempt === undefined) throw new Error('there is no version');
  return onNetwork('evm', attempt.fields);
}

/** The network of anvil. */
export function evmNetwork(changes: Partial<EvmNetwork> = {}): EvmNetwork {
  return {
    name: 'test-network',
    type: 'evm',
    chainId: 31337n,
    rpcUrls: [],
    requiredConfirmations: 1,
    averageBlockTimeMs: 1000,
    eip1559: true,
    symbol: 'ETH',
    isTestnet: true,
    tags: [],
    explorerUrls: [],
    ...changes,
  };
}

/** Policies that forbid nothing. */
export function evmPolicies(changes: Partial<EvmPolicies> = {}): EvmPolicies {
  return {
    network: 'evm',
    minBalanceWei: 0n,
    gasPriceCapWei: null,
    whitelistReceivers: null,
    eip1559Pricing: true,
    gasLimitEstimation: true,
    includeRevertData: false,
    allowTransactionSigning: false,
    maxInFlight: 16,
    rules: null,
    signing: null,
    ...changes,
  };
}

/** A request with these fields and no others. */
export function evmRequest(changes: Partial<EvmRequest> = {}): EvmRequest {
  return {
    network: 'evm',
    to: undefined,
    valueWei: undefined,
    data: undefined,
    call: undefined,
    gasLimit: undefined,
    gasPriceWei: undefined,
    maxFeePerGasWei: undefined,
    maxPriorityFeePerGasWei: undefined,
    speed: undefined,
    validUntilMs: undefined,
    ...changes,
  };
}

/** A request for a transfer of one wei, with these changes. */
export function wanted(changes: Partial<EvmRequest> = {}, validUntilMs?: number): EvmRequest {
  return evmRequest({ to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', valueWei: 1n, ...changes, validUntilMs });
}

/** A transfer of one wei at the price of `fast`. */
export function evmContent(changes: Partial<EvmContent> = {}): EvmContent {
  return {
    network: 'evm',
    to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    valueWei: 1n,
    data: null,
    gasLimit: null,
    pricing: { kind: 'speed', speed: 'fast' },
    ...changes,
  };
}

/** A relayer with this account. */
export function evmRelayer(address: string, policies: Partial<EvmPolicies> = {}): Relayer {
  return {
    id: 'r1',
    name: 'Relayer One',
    network: evmNetwork(),
    networkType: 'evm',
    address,
    signerId: 's1',
    notificationId: null,
    customRpcUrls: [],
    paused: false,
    disabledReason: null,
    policiesVersion: 1,
    policiesLocked: false,
    policies: evmPolicies(policies),
  };
}

/** A request for a first attempt. */
export function draftRequest(account: string, changes: Partial<DraftRequest> & { policies?: EvmPolicies } = {}): DraftRequest {
  const { policies, ...rest } = changes;
  return { relayer: evmRelayer(account, policies), content: evmContent(), outbids: [], validUntilMs: null, ...rest };
}

/** Broadcasts one transaction and returns its outcome. */
export async function broadcastOne(chain: Chain, raw: string): Promise<BroadcastOutcome> {
  const [outcome] = await chain.broadcastAll([raw]);
  if (outcome === undefined) throw new Error('a broadcast has an outcome');
  return outcome;
}

/** Returns the receipt of one transaction, or null if no block holds it. */
export async function receiptOf(chain: EvmChain, hash: string): Promise<Receipt | null> {
  const { number } = await chain.head();
  return (await chain.sequence.receipts([hash], { from: 0n, to: number })).found.get(hash) ?? null;
}

/** An attempt as the engine would store it. */
export function attemptOf(account: string, nonce: bigint, signed: Pick<Attempt, 'hash' | 'raw' | 'fields'>): Attempt {
  const { hash, raw, fields } = signed;
  return { chain: 'evm:31337', account, transactionId: 'tx', version: 1, purpose: 'content', nonce, hash, raw, fields, createdAtMs: 0 };
}

/** A log that keeps its lines as JSON. */
export function rememberingLog(): Log & { readonly lines: readonly string[] } {
  const lines: string[] = [];
  const keep = (level: string) => (fields: object, message: string) => void lines.push(JSON.stringify({ level, ...fields, message }));
  return { lines, debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') };
}

/** Creation code of a contract that answers every call with the payload: by `return`, or by `revert`. */
export function contractThat(verb: 'returns' | 'reverts', payload: string): string {
  return contractOf(wrapped(verb === 'returns' ? 'f3' : 'fd', payload));
}

/** Creation code of a contract with this code. */
export function contractOf(runtime: string): string {
  return wrapped('f3', runtime);
}

/** Code that returns the bytes after it. `end` is the opcode for the end. */
function wrapped(end: string, payload: string): string {
  const bytes = payload.replace(/^0x/, '');
  const length = (bytes.length / 2).toString(16).padStart(4, '0');
  return `0x61${length}600e60003961${length}6000${end}${bytes}`;
}
