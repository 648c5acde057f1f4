import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  DisabledReasonType,
  type Relayer,
  type RelayerBalance,
  RelayerBalanceSchema,
  RelayerSchema,
  type RelayerStatus,
  RelayerStatusSchema,
} from '../../../../gen/relayer/v1/relayer_service_pb.js';
import type { Relayer as DomainRelayer } from '../../../core/relayer/relayer.js';
import type { RelayerStatus as DomainStatus } from '../../../core/relayer/relayer-status.js';
import { protoOfNetworkType } from '../networks/network-type.js';
import { protoOfRpcUrl } from '../networks/rpc-url.js';
import { protoOfPolicies } from './policies.js';

/** The record of a relayer. Addresses of nodes are masked after the host: providers' keys stand there. */
export function protoOfRelayer(relayer: DomainRelayer): Relayer {
  return create(RelayerSchema, {
    id: relayer.id,
    name: relayer.name,
    network: relayer.network.name,
    networkType: protoOfNetworkType[relayer.networkType],
    paused: relayer.paused,
    policies: protoOfPolicies(relayer.policies),
    signerId: relayer.signerId,
    ...(relayer.notificationId === null ? {} : { notificationId: relayer.notificationId }),
    customRpcUrls: relayer.customRpcUrls.map(protoOfRpcUrl),
    address: relayer.address,
    systemDisabled: relayer.disabledReason !== null,
    ...(relayer.disabledReason === null
      ? {}
      : { disabledReason: { type: DisabledReasonType.RPC_VALIDATION_FAILED, details: relayer.disabledReason } }),
  });
}

/** How a relayer stands. */
export function protoOfRelayerStatus(relayer: DomainRelayer, status: DomainStatus): RelayerStatus {
  const { nextNonce, lastConfirmedAtMs } = status;
  return create(RelayerStatusSchema, {
    networkType: protoOfNetworkType[relayer.networkType],
    balance: status.balance.toString(),
    lowBalance: status.isLow,
    pendingTransactionsCount: BigInt(status.pendingCount),
    ...(lastConfirmedAtMs === null ? {} : { lastConfirmedTransactionTimestamp: timestampFromMs(lastConfirmedAtMs) }),
    systemDisabled: relayer.disabledReason !== null,
    paused: relayer.paused,
    ...(nextNonce === null || relayer.networkType !== 'evm' ? {} : { nonce: nextNonce.toString() }),
    ...(nextNonce === null || relayer.networkType !== 'stellar' ? {} : { sequenceNumber: (nextNonce - 1n).toString() }),
  });
}

const units = { evm: 'wei', stellar: 'stroop', solana: 'lamports' } as const;

/** What a relayer's account holds. */
export function protoOfBalance({ networkType }: DomainRelayer, balance: bigint): RelayerBalance {
  return create(RelayerBalanceSchema, { balance: balance.toString(), unit: units[networkType] });
}
