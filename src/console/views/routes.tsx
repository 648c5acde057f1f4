import type { ComponentType } from 'preact';
import type { ApiKeyScope } from '../../../gen/relayer/v1/api_key_service_pb.js';
import { Empty } from '../parts/failure-note.js';
import { PageTitle } from '../parts/page-title.js';
import { scopes } from '../service/session.js';
import { ApprovalsView } from './approvals.js';
import { InstancesView } from './instances.js';
import { KeysView } from './keys.js';
import { LaneView } from './lane.js';
import { NetworksView } from './networks.js';
import { OverviewView } from './overview.js';
import { RelayerSettingsView } from './relayer-settings.js';
import { RelayersView } from './relayers.js';
import { SendView } from './send.js';
import { SignView } from './sign.js';
import { SignersView } from './signers.js';
import { TransactionView } from './transaction.js';
import { TransactionsView } from './transactions.js';
import { WebhookView } from './webhook.js';
import { WebhooksView } from './webhooks.js';

/** A view and its address. */
export interface Route {
  /** The path after `#`; `:name` stands for a part that the view gets as a property of that name. */
  readonly pattern: string;
  /** The scope that the view needs. Null: any key may open it. */
  readonly scope: ApiKeyScope | null;
  /** Its name in the navigation. Absent: it is reached from another view. */
  readonly nav?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the names of a pattern are the properties of its view.
  readonly view: ComponentType<any>;
}

/** Every view. The first whose pattern matches is shown. */
export const routes: readonly Route[] = [
  { pattern: '/', scope: null, nav: 'Overview', view: OverviewView },
  { pattern: '/relayers', scope: scopes.read, nav: 'Relayers', view: RelayersView },
  { pattern: '/relayers/:relayerId/lane', scope: scopes.read, view: LaneView },
  { pattern: '/relayers/:relayerId/transactions', scope: scopes.read, view: TransactionsView },
  { pattern: '/relayers/:relayerId/transactions/:transactionId', scope: scopes.read, view: TransactionView },
  { pattern: '/relayers/:relayerId/send', scope: scopes.write, view: SendView },
  { pattern: '/relayers/:relayerId/sign', scope: scopes.sign, view: SignView },
  { pattern: '/relayers/:relayerId/settings', scope: scopes.admin, view: RelayerSettingsView },
  { pattern: '/approvals', scope: scopes.read, nav: 'Approvals', view: ApprovalsView },
  { pattern: '/webhooks', scope: scopes.notifications, nav: 'Webhooks', view: WebhooksView },
  { pattern: '/webhooks/:notificationId', scope: scopes.notifications, view: WebhookView },
  { pattern: '/networks', scope: scopes.admin, nav: 'Networks', view: NetworksView },
  { pattern: '/signers', scope: scopes.admin, nav: 'Signers', view: SignersView },
  { pattern: '/keys', scope: scopes.admin, nav: 'API keys', view: KeysView },
  { pattern: '/instances', scope: scopes.admin, nav: 'Instances', view: InstancesView },
];

/** Says that an address leads nowhere, or that the key may not open it. */
export function NotFound({ isForbidden }: { readonly isForbidden: boolean }) {
  return (
    <>
      <PageTitle>{isForbidden ? 'Not allowed' : 'No such page'}</PageTitle>
      <Empty title={isForbidden ? 'This API key lacks the scope for this page.' : 'This address leads to no page of the console.'}>
        <a href="#/">Go to the overview</a>
      </Empty>
    </>
  );
}
