import { useEffect, useRef, useState } from 'preact/hooks';
import { type Delivery, DeliveryStatus, type Notification } from '../../../gen/relayer/v1/notification_service_pb.js';
import { deadDeliveries, eventTexts, mergeDeliveries, pendingFirst } from '../model/deliveries.js';
import { fieldProblems } from '../model/field-problems.js';
import { locationTo } from '../model/route.js';
import { BulkReport, useBulk } from '../parts/bulk.js';
import { Button } from '../parts/button.js';
import { FailureNote } from '../parts/failure-note.js';
import { ConfirmDialog, FormDialog, ResultDialog } from '../parts/form-dialog.js';
import { Segments, TextInput } from '../parts/inputs.js';
import { ListPanel } from '../parts/list-panel.js';
import { PageTitle } from '../parts/page-title.js';
import { SecretOnce } from '../parts/secret-once.js';
import { toast } from '../parts/toast.js';
import { useAction, useCall } from '../parts/use-call.js';
import { usePages } from '../parts/use-pages.js';
import { notifications, once } from '../service/clients.js';
import { currentQuery, goTo, replaceLocation } from '../service/location.js';
import { newSigningKey } from '../service/random-keys.js';
import { sessionSignal } from '../service/session.js';
import { DeliveryDialog, deliveryColumns } from './delivery.js';
import { SigningKeyInput } from './signing-key-input.js';

const pageSize = 50;
/** How often the newest deliveries are read again. */
const pollMs = 3_000;

type Shown = 'all' | 'pending' | 'dead' | 'delivered';
const shownStatus: Readonly<Record<Exclude<Shown, 'all'>, DeliveryStatus>> = {
  pending: DeliveryStatus.PENDING,
  dead: DeliveryStatus.DEAD,
  delivered: DeliveryStatus.DELIVERED,
};

/** A notification and the deliveries of its events. */
export function WebhookView({ notificationId }: { readonly notificationId: string }) {
  const record = useCall(
    async (signal) => (await notifications.getNotification({ notificationId }, { ...once, signal })).notification,
    [notificationId],
  );
  const pages = usePages<Delivery>((pageToken, signal) => deliveryPage(notificationId, pageToken, signal, pageSize), [notificationId]);
  const loaded = useRef(pages.rows);
  loaded.current = pages.rows;
  usePolling(async (signal) => {
    const { rows } = await deliveryPage(notificationId, '', signal, pageSize);
    const known = new Set(loaded.current.map(({ id }) => id));
    // If not one of the newest is known, there may be others in between.
    if (known.size > 0 && !rows.some(({ id }) => known.has(id))) pages.reload();
    else pages.change((before) => mergeDeliveries(before, rows));
  });
  const [shown, setShown] = useState<Shown>('all');
  const [isAsking, setAsking] = useState(false);
  const bulk = useBulk();
  const test = useAction(async () => {
    const { delivery } = await notifications.testNotification({ notificationId }, once);
    if (delivery !== undefined) pages.change((before) => mergeDeliveries(before, [delivery]));
    toast('A test event is on its way.');
  });
  const openId = currentQuery.value.get('delivery');
  const open = (id: string | undefined) => replaceLocation(locationTo(['webhooks', notificationId], { delivery: id }));
  const fitting = pages.rows.filter(({ status }) => shown === 'all' || status === shownStatus[shown]);
  return (
    <>
      <div class="relayer-head">
        <p class="crumbs">
          <a href="#/webhooks">Webhooks</a> <span aria-hidden="true">/</span>
        </p>
        <PageTitle>{notificationId}</PageTitle>
        {record.data !== undefined && (
          <NotificationActions
            notification={record.data}
            onChanged={record.reload}
            onTest={() => void test.run()}
            isTesting={test.isRunning}
          />
        )}
      </div>
      <FailureNote failure={record.failure} onRetry={record.reload} />
      <FailureNote failure={test.failure} />
      {record.data !== undefined && (
        <dl class="facts">
          <div>
            <dt>URL</dt>
            <dd>{record.data.url}</dd>
          </div>
          <div>
            <dt>Signature</dt>
            <dd>{record.data.hasSigningKey ? 'signed' : 'not signed'}</dd>
          </div>
        </dl>
      )}
      <div class="toolbar">
        <h2>Deliveries</h2>
        <Segments
          label="Deliveries to show"
          choices={{ all: 'All', pending: 'Pending', dead: 'Dead', delivered: 'Delivered' }}
          value={shown}
          onValue={setShown}
        />
        <div class="actions">
          <Button disabled={bulk.progress?.isRunning === true} onClick={() => setAsking(true)} text="Redeliver all dead ones" />
        </div>
      </div>
      <BulkReport bulk={bulk} doing="Redelivering" done="Queued again:" />
      <ListPanel
        what="Deliveries"
        pages={pages}
        rows={pendingFirst(fitting)}
        empty={pages.rows.length === 0 ? 'There are no deliveries yet.' : `None of the ${pages.rows.length} newest deliveries is ${shown}.`}
        emptyHint={pages.rows.length === 0 ? 'Test the notification, or let a relayer use it.' : undefined}
        caption="Deliveries: pending ones first, then newest first"
        columns={deliveryColumns(({ id, event }) => (
          <button type="button" class="link" onClick={() => open(id)}>
            {eventTexts[event]}
            <span class="visually-hidden"> {id}</span>
          </button>
        ))}
        keyOf={({ id }) => id}
        rowClass={({ status }) => (status === DeliveryStatus.DEAD ? 'bad' : undefined)}
      />
      {openId !== null && (
        <DeliveryDialog
          key={openId}
          notificationId={notificationId}
          deliveryId={openId}
          onChanged={(delivery) => pages.change((before) => mergeDeliveries(before, [delivery]))}
          onClose={() => open(undefined)}
        />
      )}
      {isAsking && (
        <ConfirmDialog
          title="Redeliver all dead deliveries"
          action="Redeliver"
          destructive={false}
          onConfirm={async () => {
            void bulk.start(
              deadDeliveries((pageToken) => deliveryPage(notificationId, pageToken, sessionSignal(), 100)),
              async (deliveryId, signal) => {
                const { delivery } = await notifications.redeliverDelivery({ notificationId, deliveryId }, { ...once, signal });
                if (delivery !== undefined) pages.change((before) => mergeDeliveries(before, [delivery]));
              },
            );
          }}
          onClose={() => setAsking(false)}
        >
          <p>
            The service tries every dead delivery of this notification again: the same events with the same ids, and a new retry schedule.
            Receivers should ignore an id that they have seen.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

async function deliveryPage(notificationId: string, pageToken: string, signal: AbortSignal, size: number) {
  const page = await notifications.listDeliveries({ notificationId, pageSize: size, pageToken }, { ...once, signal });
  return { rows: page.deliveries, nextPageToken: page.nextPageToken };
}

/** Does something again and again while the page is visible. A failure is not shown: the next time comes soon. */
function usePolling(poll: (signal: AbortSignal) => Promise<void>): void {
  useEffect(() => {
    const stopped = new AbortController();
    const signal = AbortSignal.any([stopped.signal, sessionSignal()]);
    const timer = setInterval(() => {
      if (!document.hidden) poll(signal).catch(() => {});
    }, pollMs);
    return () => {
      clearInterval(timer);
      stopped.abort();
    };
  }, []);
}

function NotificationActions({
  notification,
  onChanged,
  onTest,
  isTesting,
}: {
  readonly notification: Notification;
  readonly onChanged: () => void;
  readonly onTest: () => void;
  readonly isTesting: boolean;
}) {
  const [asked, setAsked] = useState<'edit' | 'rotate' | 'unsign' | 'delete' | null>(null);
  const notificationId = notification.id;
  const close = () => setAsked(null);
  const unsign = async () => {
    await notifications.updateNotification({ notificationId, updateMask: { paths: ['signing_key'] } }, once);
    toast('Deliveries are no longer signed.');
    onChanged();
  };
  const remove = async () => {
    await notifications.deleteNotification({ notificationId }, once);
    toast(`Deleted: ${notificationId}`);
    goTo('#/webhooks');
  };
  return (
    <div class="actions">
      <Button class="primary" disabled={isTesting} onClick={onTest} text="Test" />
      <Button onClick={() => setAsked('edit')} text="Edit URL" />
      <Button onClick={() => setAsked('rotate')} text={notification.hasSigningKey ? 'Rotate signing key' : 'Sign deliveries'} />
      {notification.hasSigningKey && <Button class="danger-quiet" onClick={() => setAsked('unsign')} text="Remove signing key" />}
      <Button class="danger-quiet" onClick={() => setAsked('delete')} text="Delete" />
      {asked === 'edit' && <EditDialog notification={notification} onChanged={onChanged} onClose={close} />}
      {asked === 'rotate' && <RotateDialog notification={notification} onChanged={onChanged} onClose={close} />}
      {asked === 'unsign' && (
        <ConfirmDialog title="Remove the signing key" action="Remove key" typed={notificationId} onConfirm={unsign} onClose={close}>
          <p>Deliveries are no longer signed, by the present key or by earlier ones. Receivers that verify signatures reject them.</p>
        </ConfirmDialog>
      )}
      {asked === 'delete' && (
        <ConfirmDialog title="Delete the notification" action="Delete" typed={notificationId} onConfirm={remove} onClose={close}>
          <p>The service deletes the notification and its pending deliveries. Their events are lost.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

function EditDialog({
  notification,
  onChanged,
  onClose,
}: {
  readonly notification: Notification;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}) {
  const [url, setUrl] = useState(notification.url);
  const save = useAction(async () => {
    await notifications.updateNotification({ notificationId: notification.id, url: url.trim(), updateMask: { paths: ['url'] } }, once);
    toast('Saved.');
    onChanged();
    onClose();
  });
  const { at, rest } = fieldProblems(save.failure, { url: 'url' });
  return (
    <FormDialog
      title="Edit the URL"
      action="Save"
      isRunning={save.isRunning}
      failure={rest}
      onSubmit={() => void save.run()}
      onClose={onClose}
    >
      <TextInput label="URL" hint="Pending deliveries go to the new URL too." value={url} problem={at.url} onValue={setUrl} />
    </FormDialog>
  );
}

function RotateDialog({
  notification,
  onChanged,
  onClose,
}: {
  readonly notification: Notification;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}) {
  const [signingKey, setSigningKey] = useState(newSigningKey);
  const [isDone, setDone] = useState(false);
  const save = useAction(async () => {
    await notifications.updateNotification({ notificationId: notification.id, signingKey, updateMask: { paths: ['signing_key'] } }, once);
    setDone(true);
    onChanged();
  });
  const { at, rest } = fieldProblems(save.failure, { signingKey: 'signing_key' });
  if (isDone) {
    return (
      <ResultDialog title="New signing key" onClose={onClose}>
        <SecretOnce secret={signingKey} what="signing key">
          Copy the signing key now and give it to the receiver. The service never shows it again.
        </SecretOnce>
        {notification.hasSigningKey && (
          <p>
            The previous key keeps signing the header <code>webhook-signature</code> for 24 hours. The header <code>X-Signature</code> has
            the new key only.
          </p>
        )}
      </ResultDialog>
    );
  }
  return (
    <FormDialog
      title={notification.hasSigningKey ? 'Rotate the signing key' : 'Sign deliveries'}
      action={notification.hasSigningKey ? 'Rotate' : 'Set key'}
      isRunning={save.isRunning}
      isReady={signingKey !== ''}
      failure={rest}
      onSubmit={() => void save.run()}
      onClose={onClose}
    >
      {notification.hasSigningKey && (
        <p>
          The new key signs at once. The previous key keeps signing the header <code>webhook-signature</code> alongside it for 24 hours, so
          receivers have time to change.
        </p>
      )}
      <SigningKeyInput value={signingKey} problem={at.signingKey} onValue={setSigningKey} />
    </FormDialog>
  );
}
