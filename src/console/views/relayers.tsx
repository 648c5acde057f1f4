import { useState } from 'preact/hooks';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import type { Network } from '../../../gen/relayer/v1/network_service_pb.js';
import { CreateRelayerRequestSchema, type Relayer } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { inputOf, pathsOf } from '../model/form.js';
import { kindOf } from '../model/networks.js';
import { buildPolicies, type PolicyDraft, policyPaths } from '../model/policies.js';
import { locationTo } from '../model/route.js';
import { Badge } from '../parts/badge.js';
import { Hash } from '../parts/copy.js';
import { Loading } from '../parts/failure-note.js';
import { FormDialog } from '../parts/form-dialog.js';
import { Check, Select, TextInput } from '../parts/inputs.js';
import { ListPage } from '../parts/list-panel.js';
import type { Column } from '../parts/table.js';
import { toast } from '../parts/toast.js';
import { useAction, useCall } from '../parts/use-call.js';
import { useDraft } from '../parts/use-draft.js';
import { usePages } from '../parts/use-pages.js';
import { networks, newIdempotencyKey, notifications, once, relayers, signers } from '../service/clients.js';
import { goTo } from '../service/location.js';
import { coinOf } from '../service/overview.js';
import { may, scopes } from '../service/session.js';
import type { Unit } from '../text/amounts.js';
import { byUse } from './networks.js';
import { PolicyInputs } from './policy-inputs.js';

/** The most entries that a list of choices has: one page of the service. */
const maxChoices = 100;

/** The relayers as they are set up. The overview shows how they are. */
export function RelayersView() {
  const pages = usePages<Relayer>(async (pageToken, signal) => {
    const page = await relayers.listRelayers({ pageSize: 50, pageToken }, { ...once, signal });
    return { rows: page.relayers, nextPageToken: page.nextPageToken };
  }, []);
  return (
    <ListPage
      title="Relayers"
      create={may(scopes.admin) ? 'New relayer' : null}
      dialog={CreateDialog}
      what="Relayers"
      pages={pages}
      empty="There are no relayers yet."
      emptyHint="A relayer is an account on a network that sends transactions."
      columns={columns}
      keyOf={({ id }) => id}
    />
  );
}

const columns: readonly Column<Relayer>[] = [
  {
    title: 'Relayer',
    cell: ({ id, name }) => (
      <span class="named">
        <a href={locationTo(['relayers', id, may(scopes.admin) ? 'settings' : 'lane'])} class="break">
          {name}
        </a>
        <code class="quiet small">{id}</code>
      </span>
    ),
  },
  {
    title: 'State',
    cell: ({ paused, systemDisabled }) =>
      systemDisabled ? (
        <Badge tone="bad" icon="alert" text="disabled" />
      ) : paused ? (
        <Badge tone="warn" icon="pause" text="paused" />
      ) : (
        <Badge tone="good" icon="check" text="active" />
      ),
  },
  {
    title: 'Network',
    cell: ({ network, networkType }) => (
      <span>
        {network} <span class="quiet">{kindOf(networkType).text}</span>
      </span>
    ),
  },
  { title: 'Account', cell: ({ address }) => <Hash value={address} what="address" /> },
  { title: 'Signer', wideOnly: true, cell: ({ signerId }) => <span class="break">{signerId}</span> },
  { title: 'Notification', wideOnly: true, cell: ({ notificationId }) => notificationId ?? <span class="quiet">none</span> },
];

/** The notifications as choices for a field; null: the API key may not list them. */
function useNotificationChoices(): readonly (readonly [string, string])[] | null {
  const mayList = may(scopes.notifications);
  const { data } = useCall(
    async (signal) =>
      mayList ? (await notifications.listNotifications({ pageSize: maxChoices }, { ...once, signal })).notifications : null,
    [mayList],
  );
  return data === undefined || data === null ? null : [['', 'none'], ...data.map(({ id }) => [id, id] as const)];
}

/** Chooses the notification of a relayer, by its id if the API key may not list them. */
export function NotificationInput(input: ReturnType<typeof inputOf<string>>) {
  const choices = useNotificationChoices();
  if (choices === null) return <TextInput {...input} />;
  const isListed = choices.some(([id]) => id === input.value);
  return <Select {...input} choices={isListed ? choices : [...choices, [input.value, input.value]]} />;
}

function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const choices = useCall(async (signal) => {
    const page = { pageSize: maxChoices };
    const [networkPage, signerPage] = await Promise.all([
      networks.listNetworks(page, { ...once, signal }),
      signers.listSigners(page, { ...once, signal }),
    ]);
    return { networks: byUse(networkPage.networks).flat(), signerIds: signerPage.signers.map(({ id }) => id) };
  }, []);
  if (choices.data === undefined) {
    return (
      <FormDialog
        title="New relayer"
        action="Create"
        isRunning={false}
        isReady={false}
        failure={choices.failure}
        onSubmit={() => {}}
        onClose={onClose}
      >
        {choices.failure === undefined && <Loading what="networks and signers" />}
      </FormDialog>
    );
  }
  return <CreateForm networks={choices.data.networks} signerIds={choices.data.signerIds} onClose={onClose} />;
}

function CreateForm({
  networks: known,
  signerIds,
  onClose,
}: {
  readonly networks: readonly Network[];
  readonly signerIds: readonly string[];
  readonly onClose: () => void;
}) {
  const empty = { id: '', name: '', networkId: known[0]?.id ?? '', signerId: signerIds[0] ?? '', notificationId: '', paused: false };
  const [draft, onDraft] = useDraft(empty);
  const [policies, setPolicies] = useState<PolicyDraft>({});
  const { id, name, networkId, signerId, notificationId, paused } = draft;
  const [own, setOwn] = useState<Readonly<Record<string, string>>>({});
  const [idempotencyKey] = useState(newIdempotencyKey);
  const network = known.find((one) => one.id === networkId);
  const networkType = network?.networkType ?? NetworkType.EVM;
  const coin = unitOfCoin(network?.name ?? '', networkType);
  const create = useAction(async () => {
    const built = buildPolicies(networkType, policies, coin);
    setOwn('problems' in built ? built.problems : {});
    if ('problems' in built) return;
    const { relayer } = await relayers.createRelayer(
      {
        ...(id.trim() === '' ? {} : { id: id.trim() }),
        name: name.trim(),
        network: network?.name ?? '',
        networkType,
        paused,
        ...(Object.values(policies).some((text) => text.trim() !== '') ? { policies: built.policies } : {}),
        signerId,
        ...(notificationId === '' ? {} : { notificationId }),
        idempotencyKey,
      },
      once,
    );
    toast(`Created: ${relayer?.name}`);
    if (relayer !== undefined) goTo(locationTo(['relayers', relayer.id, 'lane']));
  });
  const fields = CreateRelayerRequestSchema.field;
  const paths = pathsOf([fields.id, fields.name, fields.network, fields.signerId, fields.notificationId]);
  const { at, rest } = fieldProblems(create.failure, { ...paths, ...policyPaths(networkType) });
  const form = { draft, problems: at, onDraft };
  return (
    <FormDialog
      title="New relayer"
      action="Create"
      wide
      isRunning={create.isRunning}
      failure={rest}
      onSubmit={() => void create.run()}
      onClose={onClose}
    >
      <div class="form-row">
        <TextInput {...inputOf(form, fields.name)} />
        <TextInput {...inputOf(form, fields.id)} />
      </div>
      <div class="form-row">
        <Select
          label="Network"
          choices={known.map((one) => [one.id, `${one.name} (${kindOf(one.networkType).text})`] as const)}
          value={networkId}
          problem={at.network}
          onValue={(value) => {
            onDraft({ networkId: value });
            setPolicies({});
          }}
        />
        <Select {...inputOf(form, fields.signerId, 'Signer')} choices={signerIds.map((one) => [one, one] as const)} />
        <NotificationInput {...inputOf(form, fields.notificationId, 'Notification')} />
      </div>
      <Check label="Start paused" checked={paused} onChecked={(checked) => onDraft({ paused: checked })} />
      <details>
        <summary>Policies</summary>
        <PolicyInputs networkType={networkType} coin={coin} draft={policies} onDraft={setPolicies} problems={{ ...at, ...own }} />
      </details>
    </FormDialog>
  );
}

/** The native coin of a network as a unit. */
export function unitOfCoin(network: string, networkType: NetworkType): Unit {
  const { symbol, decimals } = coinOf({ network, networkType });
  return { name: symbol, decimals };
}
