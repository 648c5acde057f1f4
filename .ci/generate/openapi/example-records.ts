/** Addresses and ids that examples share. */
export const exampleIds = {
  receiver: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  otherReceiver: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  relayerAddress: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  transaction: '019a9f3c-52d1-7c0e-9d3b-2f6a1c8e4b70',
  treasuryAddress: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
} as const;

const createdAt = '2026-01-15T09:30:00.000Z';

export const signature = {
  r: '5f2b6d3c8e1a40979b7cd2e6f80315a4c9be72d1046f3a85e7190cbd24f6a83e',
  s: '1c7e9a05d4b38f62a0e6c1573d9284fb6ea1508c37d2f94b80165ec7a93d02f4',
  sig: '5f2b6d3c8e1a40979b7cd2e6f80315a4c9be72d1046f3a85e7190cbd24f6a83e1c7e9a05d4b38f62a0e6c1573d9284fb6ea1508c37d2f94b80165ec7a93d02f41b',
  v: 27,
};

export const pendingTransaction = {
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
  revision: 1,
  updated_at: createdAt,
  failure_reason: null,
  block_number: null,
  gas_used: null,
  fee_paid: null,
  valid_until: null,
};

const approval = {
  rule_id: 'large',
  required: 2,
  given: [{ api_key_id: '019a9f3c-1111-7c0e-9d3b-2f6a1c8e4b70', at: '2026-01-15T10:02:00.000Z' }],
  expires_at: '2026-01-16T09:30:00.000Z',
  sender_api_key_ids: ['bootstrap'],
};

export const approvedTransaction = {
  ...pendingTransaction,
  status_reason: 'waiting: 1 of 2 approvals that the rule large asks for; will send when all are given',
  revision: 2,
  updated_at: '2026-01-15T10:02:00.000Z',
  approval,
};

export const rejectedTransaction = {
  ...approvedTransaction,
  status: 'canceled',
  status_reason: 'rejected by the API key 019a9f3c-2222-7c0e-9d3b-2f6a1c8e4b70',
  is_canceled: true,
  revision: 3,
  updated_at: '2026-01-15T10:05:00.000Z',
  approval: { ...approval, rejected: { api_key_id: '019a9f3c-2222-7c0e-9d3b-2f6a1c8e4b70', at: '2026-01-15T10:05:00.000Z' } },
};

/** The fields that the first signature sets. */
const signed = {
  hash: '0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b',
  nonce: 0,
  gas_limit: 21000,
  max_fee_per_gas: '3300000000',
  max_priority_fee_per_gas: '1100000000',
  signature,
};

const sentAt = '2026-01-15T09:30:00.214Z';

export const sentTransaction = { ...pendingTransaction, ...signed, status: 'submitted', sent_at: sentAt, revision: 3, updated_at: sentAt };

const quotedFast = {
  max_fee_per_gas: '3500000000',
  max_priority_fee_per_gas: '1500000000',
  expected_cost: '1000052500000000000',
  maximum_cost: '1000080850000000000',
};

export const policyCheck = {
  verdict: 'approve',
  rule_id: 'large',
  refusals: [],
  approval: { rule_id: 'large', approvals: 2, approval_seconds: 172800 },
  limits: [
    {
      rule_id: 'large',
      asset: 'native',
      window_seconds: 604800,
      amount: 200000000000000000000n,
      used: 0,
      reserved: 50000000000000000000n,
      left: 150000000000000000000n,
    },
  ],
};

export const quote = {
  accepted: true,
  refusals: [],
  would_succeed: true,
  funds: { sufficient: true, balance: '998000000000000000000', reserved: '0', must_remain: '0', cost: '1000080850000000000' },
  transactions_ahead: 2,
  gas_limit: 23100,
  gas_estimate: 21000,
  base_fee: '1000000000',
  l1_fee: '0',
  price: quotedFast,
  prices: [{ speed: 'fast', ...quotedFast }],
};

export const replacedTransaction = {
  ...sentTransaction,
  to: exampleIds.otherReceiver,
  value: '2',
  speed: 'fastest',
  revision: 4,
  updated_at: '2026-01-15T09:31:12.805Z',
};

export const attempt = {
  ...signed,
  version: 1,
  purpose: 'content',
  created_at: '2026-01-15T09:30:00.187Z',
  is_mined: false,
  to: exampleIds.receiver,
  value: '1000000000000000000',
  data: null,
  gas_price: null,
};

const laneTransaction = {
  id: exampleIds.transaction,
  status: 'submitted',
  status_reason: 'waiting: an RPC node has accepted it; not mined yet',
  created_at: createdAt,
  attempts: [attempt],
};

export const lane = {
  next_number: '1',
  chain_number: '0',
  slots: [{ number: '0', kind: 'open', transaction: laneTransaction }],
  waiting_count: 0,
  waiting: [],
  base_fee: '1000000000',
  market: [
    { speed: 'safeLow', price: '3000000000', priority_fee: '1000000000' },
    { speed: 'average', price: '3100000000', priority_fee: '1100000000' },
    { speed: 'fast', price: '3300000000', priority_fee: '1300000000' },
    { speed: 'fastest', price: '4000000000', priority_fee: '2000000000' },
  ],
  gas_price_cap: null,
  in_flight_limit: 16,
  problem: null,
};

const anyRelayer = {
  network: 'sandbox',
  network_type: 'evm',
  paused: false,
  custom_rpc_urls: [],
  system_disabled: false,
  policies_version: 1,
  policies_locked: false,
};

export const relayer = {
  ...anyRelayer,
  id: 'sandbox',
  name: 'Sandbox',
  policies: { min_balance: 0 },
  signer_id: 'sandbox-secp256k1',
  notification_id: 'sandbox-webhook',
  address: exampleIds.relayerAddress,
};

export const newRelayer = {
  ...anyRelayer,
  id: 'payouts',
  name: 'Payouts',
  network: 'sepolia',
  policies: { whitelist_receivers: [exampleIds.receiver], gas_price_cap: 100000000000 },
  signer_id: 'sandbox-secp256k1',
  address: exampleIds.relayerAddress,
};

export const notification = { id: 'my-backend', type: 'webhook', url: 'https://backend.example.com/relayer-events', has_signing_key: true };

export const delivery = {
  id: '019a9f3c-5310-7a44-8f1e-6c0d9b2a7e55',
  event: 'transaction_update',
  status: 'delivered',
  created_at: createdAt,
  next_attempt_at: null,
  attempts: [{ attempted_at: createdAt, http_status: 204, duration_ms: 38, error: null, response_body: '' }],
  body: null,
};

export const deliveryBody = `{"id":"${delivery.id}","event":"transaction_update","payload":{"payload_type":"transaction","id":"${exampleIds.transaction}",…},"timestamp":"${createdAt}"}`;

export const newDelivery = { ...delivery, status: 'pending', next_attempt_at: createdAt, attempts: [] };

export const signer = { id: 'treasury', type: 'local', config: { evm_address: exampleIds.treasuryAddress } };

export const network = {
  id: 'evm:sandbox',
  name: 'sandbox',
  network_type: 'evm',
  rpc_urls: [{ url: 'http://127.0.0.1:8545/***', weight: 100 }],
  explorer_urls: [],
  average_blocktime_ms: 2000,
  is_testnet: true,
  tags: [],
  chain_id: 31337,
  required_confirmations: 1,
  features: ['eip1559'],
  symbol: 'ETH',
};

export const changedNetwork = {
  ...network,
  id: 'evm:sepolia',
  name: 'sepolia',
  rpc_urls: [
    { url: 'https://sepolia.drpc.org/***', weight: 100 },
    { url: 'https://rpc.example.com/***', weight: 1 },
  ],
  explorer_urls: ['https://sepolia.etherscan.io'],
  average_blocktime_ms: 12000,
  chain_id: 11155111,
  required_confirmations: 6,
};

export const instance = {
  id: '1804289383',
  version: '1.4.0',
  host: 'relayer-0',
  pid: 7,
  state: 'sharing',
  lanes: 3,
  joined_at: createdAt,
  last_seen_at: '2026-01-15T09:31:02.000Z',
  is_self: true,
};

export const key = {
  id: '019a9f3c-5402-7b19-8a6d-0e4f7c2b9d31',
  name: 'backend',
  scopes: ['transactions:read', 'transactions:write'],
  relayer_ids: ['sandbox'],
  created_at: createdAt,
  expires_at: null,
  created_by: 'bootstrap',
  allowed_addresses: ['10.0.0.0/8'],
  last_used_at: null,
  former_secrets_expire_at: null,
};

export const auditLine = {
  id: '019bc107e1d79f86d081884c7d65000000002a',
  created_at: createdAt,
  api_key_id: key.id,
  api_key_name: key.name,
  event: null,
  method: 'TransactionService.CancelTransaction',
  relayer_id: 'sandbox',
  transaction_ids: ['019a9f3c-5402-7b19-8a6d-0e4f7c2b9d32'],
  outcome: 'OK',
  request_id: '019a9f3c-5402-7b19-8a6d-0e4f7c2b9d33',
  address: '10.0.0.7',
  line: '{"level":"audit","outcome":"OK"}',
};

export const caller = {
  api_key_id: key.id,
  name: key.name,
  scopes: key.scopes,
  relayer_ids: key.relayer_ids,
  expires_at: null,
  service_version: instance.version,
};

export const plugin = {
  id: 'channels',
  url: 'http://127.0.0.1:9900/***',
  timeout_seconds: 60,
  timeout: 60,
  headers: [{ name: 'X-Plugin-Secret', value: '***' }],
  allow_get: false,
  allow_get_invocation: false,
  raw_response: false,
  forward_logs: true,
};
