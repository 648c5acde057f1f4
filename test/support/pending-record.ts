/**
 * The fields that the records of every network share, as they are while a Stellar or Solana transaction is pending. The fields of EVM are null: every record has
 * them, also on the networks that lack them.
 */
export const pendingRecord = {
  relayer_id: 'r1',
  status: 'pending',
  sent_at: null,
  confirmed_at: null,
  hash: null,
  from: null,
  to: null,
  value: null,
  data: null,
  nonce: null,
  gas_limit: null,
  gas_price: null,
  max_fee_per_gas: null,
  max_priority_fee_per_gas: null,
  speed: null,
  signature: null,
  revision: 1,
  failure_reason: null,
  block_number: null,
  gas_used: null,
  fee_paid: null,
  valid_until: null,
} as const;
