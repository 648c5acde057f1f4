import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../../gen/relayer/v1/api_key_service_pb.js';
import { AuditService } from '../../../gen/relayer/v1/audit_service_pb.js';
import { InstanceService } from '../../../gen/relayer/v1/instance_service_pb.js';
import { NetworkService } from '../../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../../gen/relayer/v1/notification_service_pb.js';
import { OverviewService } from '../../../gen/relayer/v1/overview_service_pb.js';
import { PluginService } from '../../../gen/relayer/v1/plugin_service_pb.js';
import { RelayerService } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { createSpendLedger, type SpendLedgerDeps } from '../../core/rules/spend-ledger.js';
import type { RequestCheck } from '../contract/gate.js';
import { type ApiKeyServiceDeps, createApiKeyService } from './api-keys/api-key-service.js';
import { type AuditServiceDeps, createAuditService } from './audit/audit-service.js';
import { createInstanceService, type InstanceServiceDeps } from './instances/instance-service.js';
import { createNetworkService } from './networks/network-service.js';
import { createNotificationService } from './notifications/notification-service.js';
import { createOverviewService, type OverviewServiceDeps } from './overview/overview-service.js';
import { createPluginService, type PluginServiceDeps } from './plugins/plugin-service.js';
import { createRelayerService } from './relayers/relayer-service.js';
import { createRequestChecks, type RequestCheckDeps } from './request-checks.js';
import { createSignerService, type SignerServiceDeps } from './signers/signer-service.js';
import { createSigningService, type SigningServiceDeps } from './signing/signing-service.js';
import { createTransactionService } from './transactions/transaction-service.js';

/** The services of the contract. */
export const contractServices: readonly DescService[] = [
  TransactionService,
  SigningService,
  NotificationService,
  RelayerService,
  SignerService,
  NetworkService,
  PluginService,
  ApiKeyService,
  InstanceService,
  OverviewService,
  AuditService,
];

/** A service and its implementation. */
export interface ServedService {
  readonly service: DescService;
  readonly implementation: object;
  /** The checks of methods that the definitions do not state. */
  readonly checks: ReadonlyMap<DescMethod, RequestCheck>;
}

/** Returns the check of a method; undefined: it checks no more than the definitions say. */
export function requestCheckOf(served: readonly ServedService[], method: DescMethod): RequestCheck | undefined {
  return served.find(({ service }) => service.typeName === method.parent.typeName)?.checks.get(method);
}

export type ServicesDeps = RequestCheckDeps &
  SignerServiceDeps &
  ApiKeyServiceDeps &
  InstanceServiceDeps &
  OverviewServiceDeps &
  PluginServiceDeps &
  AuditServiceDeps &
  Omit<SigningServiceDeps, 'ledger'> &
  SpendLedgerDeps;

/** Creates every service of the contract. */
export function createServices(deps: ServicesDeps): readonly ServedService[] {
  const checks = createRequestChecks(deps);
  const ledger = createSpendLedger(deps);
  return [
    { service: TransactionService, implementation: createTransactionService({ ...deps, ledger }) },
    { service: SigningService, implementation: createSigningService({ ...deps, ledger }) },
    { service: NotificationService, implementation: createNotificationService(deps) },
    { service: RelayerService, implementation: createRelayerService(deps) },
    { service: SignerService, implementation: createSignerService(deps) },
    { service: NetworkService, implementation: createNetworkService(deps) },
    { service: PluginService, implementation: createPluginService(deps) },
    { service: ApiKeyService, implementation: createApiKeyService(deps) },
    { service: InstanceService, implementation: createInstanceService(deps) },
    { service: OverviewService, implementation: createOverviewService(deps) },
    { service: AuditService, implementation: createAuditService(deps) },
  ].map((served) => ({ ...served, checks }));
}
