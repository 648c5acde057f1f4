import type { ApiKey } from '../../src/core/records/api-key.js';
import type { EvmAttemptFields } from '../../src/core/records/evm.js';
import type { Notification, OutboxEvent } from '../../src/core/records/notification.js';
import type { StoredResponse } from '../../src/core/records/stored-response.js';
import type { Attempt, LaneId, Transaction } from '../../src/core/records/transaction.js';
import { type AuditLog, healthWithoutFile, type Log } from '../../src/core/work/log.js';

/** Drops every line. */
export const silentLog: Log & AuditLog = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  audit: () => {},
  isAuditInLog: true,
  auditHealth: healthWithoutFile,
  keepAuditLines: () => undefined,
};

/** The lane of the samples. */
export const sampleLane: LaneId = { chain: 'evm:31337', account: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' };

/** A pending transaction with null in every optional field, except for what `over` sets. */
export function aTransaction(over: Partial<Transaction> & Pick<Transaction, 'id'>): Transaction {
  return {
    ...sampleLane,
    relayerId: 'relayer-1',
    status: 'pending',
    statusReason: null,
    failureReason: null,
    intent: 'content',
    content: { network: 'evm', to: null, valueWei: 0n, data: null, gasLimit: null, pricing: { kind: 'speed', speed: 'fast' } },
    queued: null,
    nonce: null,
    liveVersion: null,
    mined: null,
    createdAtMs: 1_763_600_000_000,
    updatedAtMs: 1_763_600_000_000,
    sentAtMs: null,
    confirmedAtMs: null,
    validUntilMs: null,
    traceParent: null,
    tags: null,
    delays: null,
    approval: null,
    revision: 1,
    ...over,
  };
}

/** The next revision of a transaction. */
export function next(transaction: Transaction, over: Partial<Transaction>): Transaction {
  return { ...transaction, ...over, revision: transaction.revision + 1 };
}

/** An attempt of an EVM transaction. */
export type EvmAttempt = Attempt & { readonly fields: EvmAttemptFields };

/** A first attempt at nonce 0, except for what `over` sets. */
export function anAttempt(over: Partial<EvmAttempt> & Pick<Attempt, 'transactionId'>): EvmAttempt {
  return {
    ...sampleLane,
    version: 1,
    purpose: 'content',
    nonce: 0n,
    hash: `0x${'ab'.repeat(32)}`,
    raw: `0x02${'cd'.repeat(100)}`,
    fields: {
      network: 'evm',
      to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      valueWei: 1n,
      data: null,
      gasLimit: 21_000n,
      price: { kind: 'eip1559', maxFeePerGasWei: 30_000_000_000n, maxPriorityFeePerGasWei: 1_000_000_000n },
      publishingFeeWei: 0n,
      signature: { r: '11'.repeat(32), s: '22'.repeat(32), v: 27 },
    },
    createdAtMs: 1_763_600_000_500,
    ...over,
  };
}

/** A pending event that is due at 0, except for what `over` sets. */
export function anEvent(over: Partial<OutboxEvent> & Pick<OutboxEvent, 'id'>): OutboxEvent {
  return {
    notificationId: 'hook',
    event: 'transaction_update',
    orderKey: 'transaction-1',
    body: '{"id":"x"}',
    status: 'pending',
    attempts: 0,
    nextAttemptAtMs: 0,
    createdAtMs: 1_763_600_000_000,
    traceParent: null,
    ...over,
  };
}

/** A notification without a key, except for what `over` sets. */
export function aNotification(over: Partial<Notification> & Pick<Notification, 'id'>): Notification {
  return {
    type: 'webhook',
    url: 'https://example.com/hook',
    sealedSigningKey: null,
    retiredKeys: [],
    goneAtMs: null,
    createdAtMs: 1_763_600_000_000,
    relayerIds: null,
    revision: 1,
    ...over,
  };
}

/** A stored response that does not expire soon, except for what `over` sets. */
export function aStoredResponse(over: Partial<StoredResponse>): StoredResponse {
  return {
    keyId: 'bootstrap',
    method: '/relayer.v1.TransactionService/SendTransaction',
    idempotencyKey: 'one',
    fingerprint: 'ab'.repeat(32),
    response: new Uint8Array([1, 2, 3]),
    expiresAtMs: 9_000_000_000_000,
    ...over,
  };
}

/** An API key for all relayers that does not expire, except for what `over` sets. */
export function anApiKey(over: Partial<ApiKey> & Pick<ApiKey, 'id'>): ApiKey {
  return {
    name: 'shop',
    scopes: ['transactions:read'],
    relayerIds: [],
    digest: 'ab'.repeat(32),
    formerSecrets: [],
    createdAtMs: 1_763_600_000_000,
    expiresAtMs: null,
    createdBy: null,
    adoptedBy: null,
    allowedAddresses: [],
    lastUsedAtMs: null,
    ...over,
  };
}
