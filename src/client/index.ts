/*
 * The package's client, `relayer-service/client`: typed calls over Connect from Node.js and browsers. `.ci/build-client.ts` bundles it with
 * what it imports.
 */
export { Code, ConnectError } from '@connectrpc/connect';
export * from '../../gen/google/rpc/error_details_pb.js';
export * from '../../gen/relayer/v1/api_key_service_pb.js';
export * from '../../gen/relayer/v1/common_pb.js';
export * from '../../gen/relayer/v1/errors_pb.js';
export * from '../../gen/relayer/v1/evm_pb.js';
export * from '../../gen/relayer/v1/instance_service_pb.js';
export * from '../../gen/relayer/v1/network_service_pb.js';
export * from '../../gen/relayer/v1/notification_service_pb.js';
export * from '../../gen/relayer/v1/overview_service_pb.js';
export * from '../../gen/relayer/v1/quote_pb.js';
export * from '../../gen/relayer/v1/relayer_service_pb.js';
export * from '../../gen/relayer/v1/signer_service_pb.js';
export * from '../../gen/relayer/v1/signing_service_pb.js';
export * from '../../gen/relayer/v1/solana_pb.js';
export * from '../../gen/relayer/v1/stellar_pb.js';
export * from '../../gen/relayer/v1/transaction_pb.js';
export * from '../../gen/relayer/v1/transaction_service_pb.js';
export { createRelayerClient, type RelayerClient, type RelayerClientOptions } from './relayer-client.js';
export { verifyWebhook, type WebhookHeaders } from './verify-webhook.js';
export type { TransactionReference, WaitOptions } from './wait-for-transaction.js';
