import { useState } from 'preact/hooks';
import { CreateNotificationRequestSchema, type Notification, NotificationType } from '../../../gen/relayer/v1/notification_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { inputOf, pathsOf } from '../model/form.js';
import { locationTo } from '../model/route.js';
import { Badge } from '../parts/badge.js';
import { FormDialog, ResultDialog } from '../parts/form-dialog.js';
import { TextInput } from '../parts/inputs.js';
import { ListPage } from '../parts/list-panel.js';
import { SecretOnce } from '../parts/secret-once.js';
import type { Column } from '../parts/table.js';
import { useAction } from '../parts/use-call.js';
import { useDraft } from '../parts/use-draft.js';
import { usePages } from '../parts/use-pages.js';
import { newIdempotencyKey, notifications, once } from '../service/clients.js';
import { goTo } from '../service/location.js';
import { overview } from '../service/overview.js';
import { newSigningKey } from '../service/random-keys.js';
import { SigningKeyInput } from './signing-key-input.js';

/** The notifications: where events are delivered to. */
export function WebhooksView() {
  const pages = usePages<Notification>(async (pageToken, signal) => {
    const page = await notifications.listNotifications({ pageSize: 50, pageToken }, { ...once, signal });
    return { rows: page.notifications, nextPageToken: page.nextPageToken };
  }, []);
  const backlog = overview.value.webhookBacklog;
  return (
    <ListPage
      title="Webhooks"
      beside={
        backlog !== undefined &&
        backlog > 0 && (
          <Badge
            tone="warn"
            icon="clock"
            text={`${backlog.toLocaleString('en')} ${backlog === 1 ? 'event waits' : 'events wait'} for delivery`}
          />
        )
      }
      create="New notification"
      dialog={CreateDialog}
      what="Notifications"
      pages={pages}
      empty="There are no notifications yet."
      emptyHint="A notification is a URL that the service posts events of relayers to."
      columns={columns}
      keyOf={({ id }) => id}
    />
  );
}

const columns: readonly Column<Notification>[] = [
  {
    title: 'Notification',
    cell: ({ id }) => (
      <a href={locationTo(['webhooks', id])} class="break">
        {id}
      </a>
    ),
  },
  { title: 'URL', cell: ({ url }) => <span class="break">{url}</span> },
  {
    title: 'Signature',
    cell: ({ hasSigningKey }) =>
      hasSigningKey ? <Badge tone="good" icon="check" text="signed" /> : <Badge tone="warn" icon="alert" text="not signed" />,
  },
];

function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const [draft, change] = useDraft(() => ({ id: '', url: '', signingKey: newSigningKey() }));
  const { id, url, signingKey } = draft;
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const [created, setCreated] = useState<string | null>(null);
  const create = useAction(async () => {
    const { notification } = await notifications.createNotification(
      {
        ...(id.trim() === '' ? {} : { id: id.trim() }),
        ...(signingKey === '' ? {} : { signingKey }),
        type: NotificationType.WEBHOOK,
        url: url.trim(),
        idempotencyKey,
      },
      once,
    );
    setCreated(notification?.id ?? null);
  });
  const fields = CreateNotificationRequestSchema.field;
  const { at, rest } = fieldProblems(create.failure, pathsOf([fields.id, fields.url, fields.signingKey]));
  const onDraft = (part: Partial<typeof draft>) => {
    change(part);
    // Another content is another request, which an old key would refuse.
    setIdempotencyKey(newIdempotencyKey());
  };
  const form = { draft, problems: at, onDraft };
  if (created !== null) {
    const open = () => goTo(locationTo(['webhooks', created]));
    return (
      <ResultDialog title="Notification created" action="Open" onClose={open}>
        <p>
          <code>{created}</code> delivers to {url.trim()}. Relayers that name this notification send their events to it.
        </p>
        {signingKey !== '' && (
          <SecretOnce secret={signingKey} what="signing key">
            Copy the signing key now and give it to the receiver. The service never shows it again.
          </SecretOnce>
        )}
      </ResultDialog>
    );
  }
  return (
    <FormDialog
      title="New notification"
      action="Create"
      isRunning={create.isRunning}
      failure={rest}
      onSubmit={() => void create.run()}
      onClose={onClose}
    >
      <TextInput {...inputOf(form, fields.id)} />
      <TextInput {...inputOf(form, fields.url)} placeholder="https://" required />
      <SigningKeyInput value={signingKey} problem={at.signingKey} onValue={(value) => onDraft({ signingKey: value })} />
    </FormDialog>
  );
}
