import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../../gen/relayer/v1/api_key_service_pb.js';
import { NetworkService } from '../../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../../gen/relayer/v1/notification_service_pb.js';
import { RelayerService } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../../gen/relayer/v1/transaction_service_pb.js';
import type { UpdateNetworkDeps } from '../../core/network/update-network.js';
import type { Keccak256 } from '../../core/signer/sign-data.js';
import { type ApiKeyServiceDeps, createApiKeyService } from './api-keys/api-key-service.js';
import { createNetworkService } from './networks/network-service.js';
import { createNotificationService, type NotificationServiceDeps } from './notifications/notification-service.js';
import { createRelayerService, type RelayerServiceDeps } from './relayers/relayer-service.js';
import { createSignerService, type SignerServiceDeps } from './signers/signer-service.js';
import { createSigningService } from './signing/signing-service.js';
import { createTransactionService, type TransactionServiceDeps } from './transactions/transaction-service.js';

/** A service and its implementation; a missing method answers UNIMPLEMENTED. */
export interface ServedService {
  readonly service: DescService;
  readonly implementation: object;
}

/** True if the method is implemented. */
export function isBuilt(served: readonly ServedService[], method: DescMethod): boolean {
  return served.some(({ service, implementation }) => service.typeName === method.parent.typeName && method.localName in implementation);
}

export type ServicesDeps = TransactionServiceDeps &
  NotificationServiceDeps &
  RelayerServiceDeps &
  SignerServiceDeps &
  UpdateNetworkDeps &
  ApiKeyServiceDeps & { readonly keccak256: Keccak256 };

/** Creates every service of the contract. */
export function createServices(deps: ServicesDeps): readonly ServedService[] {
  return [
    { service: TransactionService, implementation: createTransactionService(deps) },
    { service: SigningService, implementation: createSigningService(deps) },
    { service: NotificationService, implementation: createNotificationService(deps) },
    { service: RelayerService, implementation: createRelayerService(deps) },
    { service: SignerService, implementation: createSignerService(deps) },
    { service: NetworkService, implementation: createNetworkService(deps) },
    { service: ApiKeyService, implementation: createApiKeyService(deps) },
  ];
}
