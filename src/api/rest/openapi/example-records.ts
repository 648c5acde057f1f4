import { exampleIds } from './example-ids.js';

const createdAt = '2026-01-15T09:30:00.000Z';

const signature = {
  r: '5f2b6d3c8e1a40979b7cd2e6f80315a4c9be72d1046f3a85e7190cbd24f6a83e',
  s: '1c7e9a05d4b38f62a0e6c1573d9284fb6ea1508c37d2f94b80165ec7a93d02f4',
  sig: '5f2b6d3c8e1a40979b7cd2e6f80315a4c9be72d1046f3a85e7190cbd24f6a83e1c7e9a05d4b38f62a0e6c1573d9284fb6ea1508c37d2f94b80165ec7a93d02f41b',
  v: 27,
};

const pendingTransaction = {
  id: exampleIds.transaction,
  relayer_id: 'sandbox',
  status: 'pending',
  status_reason: null,
  created_at: createdAt,
  sent_at: null,
  confirmed_at: null,
  hash: null,
  from: exampleIds.relayerAddress,
  to: exampleIds.receiver,
  value: '1000000000000000000',
  data: null,
  nonce: null,
  gas_limit: null,
  gas_price: null,
  max_fee_per_gas: null,
  max_priority_fee_per_gas: null,
  speed: 'fast',
  signature: null,
  is_canceled: false,
};

const sentTransaction = {
  ...pendingTransaction,
  status: 'submitted',
  sent_at: '2026-01-15T09:30:00.214Z',
  hash: '0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b',
  nonce: 7,
  gas_limit: 21000,
  max_fee_per_gas: '3300000000',
  max_priority_fee_per_gas: '1100000000',
  signature,
};

const replacedTransaction = { ...sentTransaction, to: exampleIds.otherReceiver, value: '2', speed: 'fastest' };

const attempt = {
  version: 1,
  purpose: 'content',
  hash: sentTransaction.hash,
  created_at: '2026-01-15T09:30:00.187Z',
  is_mined: false,
  nonce: 7,
  to: exampleIds.receiver,
  value: '1000000000000000000',
  data: null,
  gas_limit: 21000,
  gas_price: null,
  max_fee_per_gas: '3300000000',
  max_priority_fee_per_gas: '1100000000',
  signature,
};

const relayer = {
  id: 'sandbox',
  name: 'Sandbox',
  network: 'sepolia',
  network_type: 'evm',
  paused: false,
  policies: { min_balance: 0, whitelist_receivers: [], gas_price_cap: 100000000000 },
  signer_id: 'treasury',
  notification_id: 'my-backend',
  custom_rpc_urls: [],
  address: exampleIds.relayerAddress,
  system_disabled: false,
};

const notification = { id: 'my-backend', type: 'webhook', url: 'https://backend.example.com/relayer-events', has_signing_key: true };

const delivery = {
  id: exampleIds.delivery,
  event: 'transaction_update',
  status: 'delivered',
  created_at: createdAt,
  next_attempt_at: null,
  attempts: [{ attempted_at: createdAt, http_status: 204, duration_ms: 38, error: null, response_body: '' }],
};

const newDelivery = { ...delivery, status: 'pending', next_attempt_at: createdAt, attempts: [] };

const signer = { id: 'treasury', type: 'local', config: { evm_address: exampleIds.relayerAddress } };

const network = {
  id: 'evm:sepolia',
  name: 'sepolia',
  network_type: 'evm',
  rpc_urls: [{ url: 'https://ethereum-sepolia-rpc.publicnode.com/***', weight: 100 }],
  explorer_urls: ['https://sepolia.etherscan.io'],
  average_blocktime_ms: 12000,
  is_testnet: true,
  tags: [],
  chain_id: 11155111,
  required_confirmations: 6,
  features: ['eip1559'],
  symbol: 'ETH',
};

const key = {
  id: exampleIds.apiKey,
  name: 'backend',
  scopes: ['transactions:read', 'transactions:write'],
  relayer_ids: ['sandbox'],
  created_at: createdAt,
  expires_at: null,
};

/** Resources as answers show them. */
export const exampleRecords = {
  signature,
  pendingTransaction,
  sentTransaction,
  replacedTransaction,
  attempt,
  relayer,
  notification,
  delivery,
  newDelivery,
  signer,
  network,
  key,
} as const;
