import type { DescMethod } from '@bufbuild/protobuf';
import * as records from './example-records.js';

/*
 * The examples work on the service that `npm start` runs. `/docs` prefills only ids that this service has from its start, so each call that
 * is prefilled completely succeeds, and none changes the sandbox's own relayers. Methods that change or delete something have no example of
 * the id. A test executes each example.
 */

/** The examples of a method. */
interface MethodExamples {
  /** Path variables, if they differ from those of other methods; undefined: no example. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Bodies by name. The name begins with the type of the network, if the body depends on it. */
  readonly requests?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
  /** A whole response. */
  readonly answer?: unknown;
}

/** Returns the examples of a method. */
export function examplesOf(method: DescMethod): MethodExamples {
  return methodExamples[`${method.parent.name}.${method.name}`] ?? {};
}

/** Returns the example of a path variable; undefined if the caller must choose its value. */
export function parameterExample(method: DescMethod, name: string): unknown {
  const { parameters = {} } = examplesOf(method);
  return name in parameters ? parameters[name] : parameterExamples[name];
}

const parameterExamples: Readonly<Record<string, unknown>> = {
  relayer_id: 'sandbox',
  notification_id: 'sandbox-webhook',
  signer_id: 'sandbox-secp256k1',
  network_id: 'evm:sandbox',
};

const evmContent = {
  evm: {
    summary: 'EVM: a payment at the market price',
    value: { to: records.exampleIds.receiver, value: '1000000000000000000', speed: 'fast' },
  },
  evm_call: {
    summary: 'EVM: a contract call with explicit prices and an expiry',
    value: {
      to: records.exampleIds.receiver,
      value: 0,
      data: '0xa9059cbb0000000000000000000000003c44cdddb6a900fa2b585dd299e03d12fa4293bc0000000000000000000000000000000000000000000000000000000000000001',
      gas_limit: 100000,
      max_fee_per_gas: 40000000000,
      max_priority_fee_per_gas: 2000000000,
      valid_until: '2099-01-01T00:00:00Z',
    },
  },
  evm_function: {
    summary: 'EVM: a contract call by function, which the service encodes',
    value: {
      to: records.exampleIds.receiver,
      value: 0,
      call: {
        function: 'transfer(address to, uint256 amount)',
        args: { to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', amount: '1000000000000000000' },
      },
    },
  },
};

const otherContent = {
  stellar: {
    summary: 'Stellar: a payment with a memo, by the relayer `sandbox-stellar`',
    value: {
      network: 'sandbox-stellar',
      operations: [
        {
          type: 'payment',
          destination: 'GAFWCK265XMRRRZAEPMAE2PTNTQA4BMIKUNVCZ3ROGFYQC5HXVUYYXXT',
          amount: '10000000',
          asset: { type: 'native' },
        },
      ],
      memo: { type: 'text', value: 'invoice 42' },
    },
  },
  solana: {
    summary: 'Solana: a transfer of lamports, by the relayer `sandbox-solana`; its address is the first account',
    value: {
      instructions: [
        {
          program_id: '11111111111111111111111111111111',
          accounts: [
            { pubkey: '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS', is_signer: true, is_writable: true },
            { pubkey: '37R4ikPi3VK4VZxjgSZTtmiEadgSQ6FBBaJMH1iZLRyY', is_signer: false, is_writable: true },
          ],
          data: 'AgAAAEBCDwAAAAAA',
        },
      ],
    },
  },
};

const signing = { answer: done(records.signature) };

/** By service and method. */
const methodExamples: Readonly<Record<string, MethodExamples>> = {
  'TransactionService.SendTransaction': { requests: { ...evmContent, ...otherContent }, answer: done(records.pendingTransaction) },
  'TransactionService.SendTransactions': {
    requests: {
      evm: {
        summary: 'EVM: two payments',
        value: {
          transactions: [
            { to: records.exampleIds.receiver, value: '1000000000000000000', speed: 'fast' },
            { to: records.exampleIds.otherReceiver, value: 2 },
          ],
        },
      },
    },
    answer: done([records.pendingTransaction]),
  },
  'TransactionService.QuoteTransaction': { requests: { ...evmContent, ...otherContent }, answer: done(records.quote) },
  'TransactionService.CheckPolicies': {
    requests: {
      send: {
        summary: 'A send, by a relayer with rules',
        value: { send: { to: records.exampleIds.receiver, value: '1000000000000000000', speed: 'fast' } },
      },
      sign_data: { summary: 'A message to sign, by an EVM relayer', value: { sign_data: { message: 'Hello, relayer!' } } },
    },
    answer: done(records.policyCheck),
  },
  'TransactionService.ReplaceTransaction': {
    requests: {
      evm: {
        summary: 'EVM: another receiver, at the highest price',
        value: { to: records.exampleIds.otherReceiver, value: 2, speed: 'fastest' },
      },
      ...otherContent,
    },
    answer: done(records.replacedTransaction),
  },
  'TransactionService.CancelTransaction': { answer: done({ ...records.sentTransaction, is_canceled: true }) },
  'TransactionService.ApproveTransaction': { answer: done(records.approvedTransaction) },
  'TransactionService.RejectTransaction': { answer: done(records.rejectedTransaction) },
  'TransactionService.CancelPendingTransactions': {
    answer: done({
      queued_for_cancellation_transaction_ids: [records.exampleIds.transaction],
      failed_to_queue_transaction_ids: [],
      total_processed: 1,
    }),
  },
  'TransactionService.GetTransaction': { answer: done(records.sentTransaction) },
  'TransactionService.WaitTransaction': { answer: done(records.sentTransaction) },
  'TransactionService.GetTransactionByNonce': { answer: done(records.sentTransaction) },
  'TransactionService.ListTransactions': { answer: page(records.sentTransaction) },
  'TransactionService.FindTransactions': { answer: page(records.sentTransaction) },
  'TransactionService.ListAttempts': { answer: page(records.attempt) },
  'SigningService.SignTypedData': {
    requests: {
      mail: {
        summary: 'The example in EIP-712, signed by an EVM relayer',
        value: {
          domain_separator: '0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f',
          hash_struct_message: '0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e',
        },
      },
      order: {
        summary: 'Typed data itself, which the service hashes, signed by an EVM relayer',
        value: {
          domain: { name: 'Shop', version: '1', chainId: 31337, verifyingContract: records.exampleIds.receiver },
          types: {
            Item: [
              { name: 'sku', type: 'string' },
              { name: 'price', type: 'uint256' },
            ],
            Order: [
              { name: 'buyer', type: 'address' },
              { name: 'items', type: 'Item[]' },
            ],
          },
          primary_type: 'Order',
          message: { buyer: records.exampleIds.otherReceiver, items: [{ sku: 'tea', price: '1000000000000000000' }] },
        },
      },
    },
    ...signing,
  },
  'SigningService.SignData': {
    requests: {
      text: { summary: 'A message, signed by an EVM relayer', value: { message: 'Hello, relayer!' } },
      bytes: { summary: 'The bytes of a message, signed by an EVM relayer', value: { message_hex: '0xdeadbeef' } },
    },
    ...signing,
  },
  // The relayer has no example: the envelope must be one of its own account.
  'SigningService.SignTransaction': {
    parameters: { relayer_id: undefined },
    requests: {
      stellar: {
        summary: 'Stellar: an envelope, by the relayer `sandbox-stellar`; its account is the source',
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
        value: { id: 'my-backend', url: records.notification.url, signing_key: 'a-key-of-at-least-32-characters-please' },
      },
    },
    answer: done(records.notification),
  },
  'NotificationService.UpdateNotification': {
    parameters: { notification_id: undefined },
    requests: {
      url: { summary: 'A new URL; the signing key does not change', value: { url: 'https://backend.example.com/other-events' } },
      key: { summary: 'Remove the signing key', value: { signing_key: '' } },
    },
    answer: done({ ...records.notification, url: 'https://backend.example.com/other-events' }),
  },
  'NotificationService.GetNotification': { answer: done(records.notification) },
  'NotificationService.ListNotifications': { answer: page(records.notification) },
  'NotificationService.DeleteNotification': {
    parameters: { notification_id: undefined },
    answer: done(null),
  },
  'NotificationService.ListDeliveries': { answer: page(records.delivery) },
  'NotificationService.GetDelivery': { answer: done({ ...records.delivery, body: records.deliveryBody }) },
  'NotificationService.RedeliverDelivery': { answer: done(records.newDelivery) },
  'NotificationService.TestNotification': { answer: done({ ...records.newDelivery, event: 'test' }) },
  'RelayerService.GetRelayer': { answer: done(records.relayer) },
  'RelayerService.ListRelayers': { answer: page(records.relayer) },
  'RelayerService.CreateRelayer': {
    requests: {
      evm: {
        summary: 'A relayer on an EVM network',
        value: {
          id: 'payouts',
          name: 'Payouts',
          network: 'sepolia',
          network_type: 'evm',
          signer_id: 'sandbox-secp256k1',
          policies: { gas_price_cap: 100000000000, whitelist_receivers: [records.exampleIds.receiver] },
        },
      },
    },
    answer: done(records.newRelayer),
  },
  'RelayerService.UpdateRelayer': {
    parameters: { relayer_id: undefined },
    requests: {
      pause: { summary: 'Pause the relayer', value: { paused: true } },
      policy: { summary: 'Set one policy and remove another', value: { policies: { gas_price_cap: 200000000000, min_balance: null } } },
      signing: {
        summary: 'Let a relayer with rules sign transactions that it does not send',
        value: { policies: { signing: { transactions: 'allow' } } },
      },
    },
    answer: done({ ...records.newRelayer, paused: true }),
  },
  'RelayerService.DeleteRelayer': { parameters: { relayer_id: undefined }, answer: done(null) },
  'RelayerService.GetRelayerStatus': {
    answer: done({
      network_type: 'evm',
      balance: '998999999999999979000',
      low_balance: false,
      pending_transactions_count: 1,
      last_confirmed_transaction_timestamp: '2026-01-15T09:30:24.000Z',
      system_disabled: false,
      paused: false,
      nonce: '1',
      in_flight_limit: 16,
    }),
  },
  'RelayerService.GetSpendUsage': {
    answer: done({
      limits: [
        { rule_id: 'payouts', asset: 'native', window_seconds: 86400, amount: 1000000, used: 400000, reserved: 100000, left: 500000 },
      ],
    }),
  },
  'RelayerService.GetRelayerBalance': { answer: done({ balance: 998000000000000000, unit: 'wei' }) },
  'RelayerService.GetLane': { answer: done(records.lane) },
  'RelayerService.ReadContract': {
    requests: {
      one: {
        summary: 'EVM: a function whose results are not decoded, at an account without code',
        value: { to: records.exampleIds.receiver, call: { function: 'sync()' } },
      },
      many: {
        summary: 'EVM: the balances of two tokens; each read has its own error',
        value: {
          reads: [records.exampleIds.receiver, records.exampleIds.otherReceiver].map((to) => ({
            to,
            call: { function: 'balanceOf(address account) returns (uint256)', args: [records.exampleIds.receiver] },
          })),
        },
      },
    },
    answer: done({ result: '1000000000000000000', data: '0x0000000000000000000000000000000000000000000000000de0b6b3a7640000' }),
  },
  'RelayerService.CallRpc': {
    requests: {
      block: { summary: 'EVM: the number of the latest block', value: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] } },
    },
    answer: { jsonrpc: '2.0', id: 1, result: '0x10d4f' },
  },
  'SignerService.CreateSigner': {
    requests: {
      key: {
        summary: 'A private key; the service stores it encrypted',
        value: { id: 'treasury', type: 'local', config: { key: '11'.repeat(32) } },
      },
    },
    answer: done(records.signer),
  },
  'SignerService.GetSigner': { answer: done(records.signer) },
  'SignerService.TestSigner': {
    answer: done({
      evm_address: records.signer.config.evm_address,
      public_key: 'd04ab232742bb4ab3a1368bd4615e4e6d0224ab71a016baf8520a332c9778737',
      milliseconds: 1,
    }),
  },
  'SignerService.ListSigners': { answer: page(records.signer) },
  'SignerService.DeleteSigner': {
    parameters: { signer_id: undefined },
    answer: done(null),
  },
  'NetworkService.GetNetwork': { answer: done(records.network) },
  'NetworkService.ListNetworks': { answer: page(records.network) },
  'NetworkService.UpdateNetwork': {
    parameters: { network_id: 'evm:sepolia' },
    requests: {
      nodes: {
        summary: 'Two RPC endpoints; the second one gets few calls',
        value: { rpc_urls: ['https://sepolia.drpc.org', { url: 'https://rpc.example.com/v1/secret', weight: 1 }] },
      },
    },
    answer: done(records.changedNetwork),
  },
  'PluginService.CreatePlugin': {
    requests: {
      channels: {
        summary: 'A plugin on this machine, which knows the service by a header',
        value: {
          id: 'channels',
          url: 'http://127.0.0.1:9900/channels',
          timeout_seconds: 60,
          headers: [{ name: 'X-Plugin-Secret', value: 'a-secret-of-the-operator' }],
          forward_logs: true,
        },
      },
    },
    answer: done(records.plugin),
  },
  'PluginService.UpdatePlugin': {
    parameters: { plugin_id: undefined },
    requests: { get: { summary: 'Allow GET, and take a minute again', value: { allow_get: true, timeout_seconds: 60 } } },
    answer: done({ ...records.plugin, allow_get: true, allow_get_invocation: true }),
  },
  'PluginService.GetPlugin': { parameters: { plugin_id: undefined }, answer: done(records.plugin) },
  'PluginService.ListPlugins': { answer: page(records.plugin) },
  'PluginService.DeletePlugin': { parameters: { plugin_id: undefined }, answer: done(null) },
  'PluginService.CallPlugin': {
    parameters: { plugin_id: undefined },
    requests: { params: { summary: 'Parameters, as plugins of OpenZeppelin Relayer take them', value: { params: { action: 'status' } } } },
    answer: {
      ...(done({ status: 'ready' }) as object),
      metadata: { logs: [{ level: 'info', message: '2 channels are free' }], traces: [] },
    },
  },
  'ApiKeyService.CreateApiKey': {
    requests: {
      backend: {
        summary: 'A key that sends through one relayer and reads its transactions',
        value: { name: 'backend', scopes: ['transactions:read', 'transactions:write'], relayer_ids: ['sandbox'] },
      },
    },
    answer: done({ ...records.key, key: 'rk_shown-only-here' }),
  },
  'ApiKeyService.ListApiKeys': { answer: page(records.key) },
  'ApiKeyService.GetCaller': { answer: done(records.caller) },
  'ApiKeyService.RotateApiKey': {
    requests: { hour: { summary: 'A new secret; the former one ends in an hour', value: { overlap_seconds: 3600 } } },
    answer: done({ ...records.key, former_secrets_expire_at: records.key.created_at, key: 'rk_shown-only-here' }),
  },
  'ApiKeyService.DeleteApiKey': { answer: done(null) },
  'InstanceService.ListInstances': { answer: page(records.instance) },
  'InstanceService.DrainInstance': { answer: done({ ...records.instance, state: 'draining', is_self: false }) },
  'InstanceService.UndrainInstance': { answer: done(records.instance) },
  'AuditService.ListAuditLines': { answer: page(records.auditLine) },
};

function done(data: unknown): unknown {
  return { success: true, data, error: null };
}

function page(item: unknown): unknown {
  return { success: true, data: [item], error: null, pagination: { current_page: 1, per_page: 10, total_items: 1 } };
}
