import { create } from '@bufbuild/protobuf';
import {
  DisabledReasonType,
  type Relayer,
  type RelayerBalance,
  RelayerBalanceSchema,
  RelayerSchema,
  type RelayerStatus,
  RelayerStatusSchema,
} from '../../../../gen/relayer/v1/relayer_service_pb.js';
import { balanceUnits, protoOfNetworkType, protoOfPolicies, protoOfRpcUrl } from '../../../codec/relayer-values.js';
import type { Relayer as DomainRelayer } from '../../../core/records/relayer.js';
import type { RelayerStatus as DomainStatus } from '../../../core/relayer/relayer-status.js';
import { present, presentAmount, presentTime } from '../shared/present.js';

/** The record of a relayer. */
export function protoOfRelayer(relayer: DomainRelayer): Relayer {
  return create(RelayerSchema, {
    id: relayer.id,
    name: relayer.name,
    network: relayer.network.name,
    networkType: protoOfNetworkType[relayer.networkType],
    paused: relayer.paused,
    policies: protoOfPolicies(relayer.policies),
    signerId: relayer.signerId,
    ...present('notificationId', relayer.notificationId),
    customRpcUrls: relayer.customRpcUrls.map(protoOfRpcUrl),
    address: relayer.address,
    systemDisabled: relayer.disabledReason !== null,
    policiesVersion: relayer.policiesVersion,
    policiesLocked: relayer.policiesLocked,
    ...(relayer.disabledReason === null
      ? {}
      : { disabledReason: { type: DisabledReasonType.RPC_VALIDATION_FAILED, details: relayer.disabledReason } }),
  });
}

/** The status of a relayer. */
export function protoOfRelayerStatus(relayer: DomainRelayer, status: DomainStatus): RelayerStatus {
  const { nextNonce, lastConfirmedAtMs, inFlightLimit } = status;
  return create(RelayerStatusSchema, {
    networkType: protoOfNetworkType[relayer.networkType],
    balance: status.balance.toString(),
    lowBalance: status.isLow,
    pendingTransactionsCount: BigInt(status.pendingCount),
    ...presentTime('lastConfirmedTransactionTimestamp', lastConfirmedAtMs),
    systemDisabled: relayer.disabledReason !== null,
    paused: relayer.paused,
    ...(relayer.networkType === 'evm' ? { ...presentAmount('nonce', nextNonce), ...present('inFlightLimit', inFlightLimit) } : {}),
    ...(relayer.networkType === 'stellar' ? presentAmount('sequenceNumber', nextNonce === null ? null : nextNonce - 1n) : {}),
  });
}

/** The balance of a relayer's account. */
export function protoOfBalance({ networkType }: DomainRelayer, balance: bigint): RelayerBalance {
  return create(RelayerBalanceSchema, { balance: balance.toString(), unit: balanceUnits[networkType] });
}
