import type { DescMessage, DescMethod, DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../../gen/relayer/v1/api_key_service_pb.js';
import { AuditService } from '../../../gen/relayer/v1/audit_service_pb.js';
import { InstanceService } from '../../../gen/relayer/v1/instance_service_pb.js';
import { NetworkService } from '../../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../../gen/relayer/v1/notification_service_pb.js';
import { PluginService } from '../../../gen/relayer/v1/plugin_service_pb.js';
import { RelayerService } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../../gen/relayer/v1/signing_service_pb.js';
import { type SendTransactionRequest, TransactionService } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { newPluginFromProto } from '../../codec/plugin-values.js';
import { rpcUrlFromProto } from '../../codec/relayer-values.js';
import { checkNewApiKey } from '../../core/access/api-keys.js';
import { type IsRefused, readAll } from '../../core/errors/read-all.js';
import { checkNotificationParts } from '../../core/notification/notifications.js';
import { changedPlugin, checkNewPlugin, type PluginDeps } from '../../core/plugin/plugins.js';
import { checkNewRelayer, checkRelayerChange } from '../../core/relayer/relayers.js';
import type { UpdateNetworkDeps } from '../../core/relayer/update-network.js';
import { newRpcUrls } from '../../core/relayer/update-network.js';
import { contentToQuote } from '../../core/transaction/quote-transaction.js';
import { checkTransactions } from '../../core/transaction/send-transaction.js';
import type { Call } from '../contract/call.js';
import type { RequestCheck } from '../contract/gate.js';
import { newApiKeyFromProto } from './api-keys/api-key-service.js';
import type { NotificationServiceDeps } from './notifications/notification-service.js';
import { pluginChangeFromProto } from './plugins/plugin-service.js';
import { relayerChangeFromProto } from './relayers/relayer-change.js';
import { type RelayerServiceDeps, readNewRelayer } from './relayers/relayer-service.js';
import { checkPage } from './shared/list-page.js';
import { keyFrom } from './signers/signer-service.js';
import { requireCheckable } from './transactions/policy-check.js';
import { checkTransactionToSign, messageToSign, typedDataToSign } from './transactions/signature-request.js';
import { contentRequestOf, tagsOf, wantedTransactionsOf } from './transactions/transaction.js';
import type { TransactionServiceDeps } from './transactions/transaction-service.js';

export type RequestCheckDeps = Omit<TransactionServiceDeps, 'ledger'> &
  NotificationServiceDeps &
  RelayerServiceDeps &
  UpdateNetworkDeps &
  PluginDeps;

const services = [
  TransactionService,
  RelayerService,
  NotificationService,
  SignerService,
  NetworkService,
  PluginService,
  ApiKeyService,
  InstanceService,
  AuditService,
];
/** The methods whose requests ask for a page. */
const lists: readonly DescMethod[] = services.flatMap(({ methods }) =>
  methods.filter(({ input }) => input.fields.some(({ name }) => name === 'page_token')),
);

/** Creates the checks of the methods whose services check more than the definitions say. */
export function createRequestChecks(deps: RequestCheckDeps): ReadonlyMap<DescMethod, RequestCheck> {
  const nowMs = () => deps.clock.nowMs();
  const checkContent = (request: Pick<SendTransactionRequest, 'transaction'>, { relayer }: Call, isRefused: IsRefused) =>
    relayer && deps.directory.chainOf(relayer).contentOf(contentRequestOf(request), { relayer, nowMs: nowMs(), earlier: null, isRefused });
  return new Map([
    checkOf(TransactionService.method.sendTransaction, (request, call, isRefused) =>
      readAll({ content: () => checkContent(request, call, isRefused), tags: () => tagsOf(request) }),
    ),
    checkOf(
      TransactionService.method.sendTransactions,
      (request, { relayer, principal }, isRefused) =>
        relayer &&
        checkTransactions(deps, relayer, wantedTransactionsOf(request), { asker: { apiKeyId: principal?.keyId ?? null }, isRefused }),
    ),
    checkOf(TransactionService.method.quoteTransaction, (request, { relayer }, isRefused) =>
      readAll({
        content: () => relayer && contentToQuote(deps, relayer, contentRequestOf(request), isRefused),
        tags: () => tagsOf(request),
      }),
    ),
    checkOf(
      TransactionService.method.checkPolicies,
      ({ call }, { relayer }, isRefused) => relayer && requireCheckable(deps, relayer, call, isRefused),
    ),
    checkOf(TransactionService.method.replaceTransaction, checkContent),
    checkOf(SigningService.method.signTypedData, (request, { relayer }) => relayer && typedDataToSign(request, relayer, deps.directory)),
    checkOf(SigningService.method.signData, (request, _call, isRefused) => isRefused('message_hex') || messageToSign(request)),
    checkOf(
      SigningService.method.signTransaction,
      (request, { relayer }) => relayer && checkTransactionToSign(request, relayer, deps.directory),
    ),
    checkOf(NotificationService.method.createNotification, (request) => checkNotificationParts(request, deps)),
    checkOf(NotificationService.method.updateNotification, (request) => checkNotificationParts(request, deps)),
    checkOf(RelayerService.method.createRelayer, async (request) => checkNewRelayer(deps, await readNewRelayer(deps, request))),
    checkOf(
      RelayerService.method.updateRelayer,
      (request, { relayer }, isRefused) =>
        relayer && checkRelayerChange(deps, relayer.id, relayerChangeFromProto(relayer, request, isRefused)),
    ),
    checkOf(SignerService.method.createSigner, keyFrom),
    checkOf(NetworkService.method.updateNetwork, ({ networkId, rpcUrls }) =>
      newRpcUrls(deps.networks.find(networkId), rpcUrls.map(rpcUrlFromProto), deps.nodeUrls),
    ),
    checkOf(PluginService.method.createPlugin, (request) => checkNewPlugin(newPluginFromProto(request), deps.pluginUrls)),
    checkOf(PluginService.method.updatePlugin, (request) => {
      const plugin = deps.plugins.find(request.pluginId);
      return plugin && changedPlugin(plugin, pluginChangeFromProto(request), deps.pluginUrls);
    }),
    ...lists.map((method): [DescMethod, RequestCheck] => [method, checkPage as RequestCheck]),
    checkOf(ApiKeyService.method.createApiKey, (request) => checkNewApiKey(newApiKeyFromProto(request), nowMs())),
  ]);
}

function checkOf<I extends DescMessage>(
  method: DescMethodUnary<I>,
  check: (request: MessageShape<I>, call: Call, isRefused: IsRefused) => unknown,
): [DescMethod, RequestCheck] {
  return [method, check as RequestCheck];
}
