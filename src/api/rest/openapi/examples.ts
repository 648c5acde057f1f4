import {
  attempt,
  delivery,
  exampleIds,
  key,
  network,
  newDelivery,
  notification,
  pendingTransaction,
  relayer,
  replacedTransaction,
  sentTransaction,
  signature,
  signer,
} from './example-records.js';

/** A request's body, and what it is an example of. */
export interface RequestExample {
  readonly summary: string;
  readonly value: unknown;
}

/** Examples of one method. */
export interface MethodExamples {
  /** Bodies, by the names that the document gives them. */
  readonly requests?: Readonly<Record<string, RequestExample>>;
  /** A whole answer. */
  readonly answer?: unknown;
}

/** Examples of path variables: `sandbox` is the relayer that `npm start` makes. */
export const parameterExamples: Readonly<Record<string, unknown>> = {
  relayer_id: 'sandbox',
  transaction_id: exampleIds.transaction,
  nonce: 7,
  notification_id: 'my-backend',
  delivery_id: exampleIds.delivery,
  signer_id: 'treasury',
  network_id: 'evm:sepolia',
  api_key_id: exampleIds.apiKey,
};

const evmContent: Readonly<Record<string, RequestExample>> = {
  evm: { summary: 'EVM: a payment, priced by the market', value: { to: exampleIds.receiver, value: '1000000000000000000', speed: 'fast' } },
  evm_call: {
    summary: 'EVM: a call of a contract, with explicit prices',
    value: {
      to: exampleIds.receiver,
      value: 0,
      data: '0xa9059cbb0000000000000000000000003c44cdddb6a900fa2b585dd299e03d12fa4293bc0000000000000000000000000000000000000000000000000000000000000001',
      gas_limit: 100000,
      max_fee_per_gas: 40000000000,
      max_priority_fee_per_gas: 2000000000,
      valid_until: '2099-01-01T00:00:00Z',
    },
  },
};

const otherContent: Readonly<Record<string, RequestExample>> = {
  stellar: {
    summary: 'Stellar: a payment with a memo',
    value: {
      network: 'testnet',
      operations: [
        {
          type: 'payment',
          destination: 'GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H',
          amount: '10000000',
          asset: { type: 'native' },
        },
      ],
      memo: { type: 'text', value: 'invoice 42' },
    },
  },
  solana: {
    summary: 'Solana: a transfer of lamports',
    value: {
      instructions: [
        {
          program_id: '11111111111111111111111111111111',
          accounts: [
            { pubkey: '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS', is_signer: true, is_writable: true },
            { pubkey: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', is_signer: false, is_writable: true },
          ],
          data: 'AgAAAEBCDwAAAAAA',
        },
      ],
    },
  },
};

const signing = { answer: done(signature) };

/** Examples by service and method. Each request is sent, and each answer checked, by a test. */
export const methodExamples: Readonly<Record<string, MethodExamples>> = {
  'TransactionService.SendTransaction': { requests: { ...evmContent, ...otherContent }, answer: done(pendingTransaction) },
  'TransactionService.ReplaceTransaction': {
    requests: {
      evm: {
        summary: 'EVM: another receiver, at the highest price',
        value: { to: exampleIds.otherReceiver, value: 2, speed: 'fastest' },
      },
      ...otherContent,
    },
    answer: done(replacedTransaction),
  },
  'TransactionService.CancelTransaction': { answer: done({ ...sentTransaction, is_canceled: true }) },
  'TransactionService.DeletePendingTransactions': {
    answer: done({
      queued_for_cancellation_transaction_ids: [exampleIds.transaction],
      failed_to_queue_transaction_ids: [],
      total_processed: 1,
    }),
  },
  'TransactionService.GetTransaction': { answer: done(sentTransaction) },
  'TransactionService.GetTransactionByNonce': { answer: done(sentTransaction) },
  'TransactionService.ListTransactions': { answer: page(sentTransaction) },
  'TransactionService.ListAttempts': { answer: page(attempt) },
  'SigningService.SignTypedData': {
    requests: {
      mail: {
        summary: 'The example of EIP-712',
        value: {
          domain_separator: '0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f',
          hash_struct_message: '0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e',
        },
      },
    },
    ...signing,
  },
  'SigningService.SignData': { requests: { text: { summary: 'A text', value: { message: 'Hello, relayer!' } } }, ...signing },
  'SigningService.SignTransaction': {
    requests: {
      stellar: {
        summary: 'Stellar: an envelope',
        value: {
          unsigned_xdr:
            'AAAAAgAAAABi/B0L0JGythwN1lY0aypo19NHxvLCyO5tBEcCVvwF9wAAAGQAAAAAAAAAAQAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAQAAAABi/B0L0JGythwN1lY0aypo19NHxvLCyO5tBEcCVvwF9wAAAAAAAAAAAJiWgAAAAAAAAAAA',
        },
      },
    },
    answer: done({ signedXdr: 'AAAAAgAAAABi/B0L…', signature: 'yuU9ND1ABoZPEn5…' }),
  },
  'NotificationService.CreateNotification': {
    requests: {
      signed: {
        summary: 'A webhook with a signing key',
        value: { id: 'my-backend', url: notification.url, signing_key: 'a-key-of-at-least-32-characters-please' },
      },
    },
    answer: done(notification),
  },
  'NotificationService.UpdateNotification': {
    requests: {
      url: { summary: 'Another address; the key stays', value: { url: 'https://backend.example.com/other-events' } },
      key: { summary: 'Without a key from now on', value: { signing_key: '' } },
    },
    answer: done({ ...notification, url: 'https://backend.example.com/other-events' }),
  },
  'NotificationService.GetNotification': { answer: done(notification) },
  'NotificationService.ListNotifications': { answer: page(notification) },
  'NotificationService.DeleteNotification': { answer: done(null) },
  'NotificationService.ListDeliveries': { answer: page(delivery) },
  'NotificationService.RedeliverDelivery': { answer: done(newDelivery) },
  'NotificationService.TestNotification': { answer: done({ ...newDelivery, event: 'test' }) },
  'RelayerService.GetRelayer': { answer: done(relayer) },
  'RelayerService.ListRelayers': { answer: page(relayer) },
  'RelayerService.CreateRelayer': {
    requests: {
      evm: {
        summary: 'A relayer on an EVM network',
        value: {
          id: 'payouts',
          name: 'Payouts',
          network: 'sepolia',
          network_type: 'evm',
          signer_id: 'treasury',
          policies: { gas_price_cap: 100000000000, whitelist_receivers: [exampleIds.receiver] },
        },
      },
    },
    answer: done({ ...relayer, id: 'payouts', name: 'Payouts' }),
  },
  'RelayerService.UpdateRelayer': {
    requests: {
      pause: { summary: 'Paused', value: { paused: true } },
      policy: { summary: 'One policy set, another removed', value: { policies: { gas_price_cap: 200000000000, min_balance: null } } },
    },
    answer: done({ ...relayer, paused: true }),
  },
  'RelayerService.DeleteRelayer': { answer: done(null) },
  'RelayerService.GetRelayerStatus': {
    answer: done({
      network_type: 'evm',
      balance: '998999999999999979000',
      low_balance: false,
      pending_transactions_count: 1,
      last_confirmed_transaction_timestamp: '2026-01-15T09:30:24.000Z',
      system_disabled: false,
      paused: false,
      nonce: '8',
    }),
  },
  'RelayerService.GetRelayerBalance': { answer: done({ balance: 998000000000000000, unit: 'wei' }) },
  'RelayerService.CallRpc': {
    requests: {
      block: { summary: 'The number of the newest block', value: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] } },
    },
    answer: { jsonrpc: '2.0', id: 1, result: '0x10d4f' },
  },
  'SignerService.CreateSigner': {
    requests: {
      key: {
        summary: 'A private key, which is encrypted at rest',
        value: { id: 'treasury', type: 'local', config: { key: '11'.repeat(32) } },
      },
    },
    answer: done(signer),
  },
  'SignerService.GetSigner': { answer: done(signer) },
  'SignerService.ListSigners': { answer: page(signer) },
  'SignerService.DeleteSigner': { answer: done(null) },
  'NetworkService.GetNetwork': { answer: done(network) },
  'NetworkService.ListNetworks': { answer: page(network) },
  'NetworkService.UpdateNetwork': {
    requests: {
      nodes: {
        summary: 'Two nodes, one of them for a tenth of the calls',
        value: { rpc_urls: ['https://rpc.example.com', { url: 'https://other.example.com', weight: 10 }] },
      },
    },
    answer: done(network),
  },
  'ApiKeyService.CreateApiKey': {
    requests: {
      backend: {
        summary: 'A key that sends through one relayer',
        value: { name: 'backend', scopes: ['transactions:read', 'transactions:write'], relayer_ids: ['sandbox'] },
      },
    },
    answer: done({ ...key, key: 'rk_shown-only-here' }),
  },
  'ApiKeyService.ListApiKeys': { answer: page(key) },
  'ApiKeyService.DeleteApiKey': { answer: done(null) },
};

function done(data: unknown): unknown {
  return { success: true, data, error: null };
}

function page(item: unknown): unknown {
  return { success: true, data: [item], error: null, pagination: { current_page: 1, per_page: 10, total_items: 1 } };
}
