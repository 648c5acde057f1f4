import { type Delivery, type DeliveryAttempt, DeliveryStatus } from '../../../gen/relayer/v1/notification_service_pb.js';
import { eventTexts } from '../model/deliveries.js';
import { msOf } from '../model/ms-of.js';
import { Badge } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { CodeBlock } from '../parts/code-block.js';
import { CopyButton, Hash } from '../parts/copy.js';
import { Dialog } from '../parts/dialog.js';
import { FailureNote, Loading } from '../parts/failure-note.js';
import type { Column } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { toast } from '../parts/toast.js';
import { useAction, useCall } from '../parts/use-call.js';
import { notifications, once } from '../service/clients.js';
import { prettyJson } from '../text/pretty-json.js';
import { durationText } from '../text/times.js';

/** The status of a delivery. */
function DeliveryBadge({ status }: { readonly status: DeliveryStatus }) {
  if (status === DeliveryStatus.DELIVERED) {
    return <Badge tone="good" icon="check" text="delivered" />;
  }
  return status === DeliveryStatus.DEAD ? <Badge tone="bad" icon="cross" text="dead" /> : <Badge tone="warn" icon="clock" text="pending" />;
}

/**
 * The columns of a table of deliveries.
 * @param event the first cell: the event, which opens the delivery
 */
export function deliveryColumns(event: Column<Delivery>['cell']): readonly Column<Delivery>[] {
  return [
    { title: 'Event', cell: event },
    { title: 'Status', cell: ({ status }) => <DeliveryBadge status={status} /> },
    { title: 'Happened', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Attempts', align: 'right', cell: ({ attempts }) => attempts.length },
    {
      title: 'Last response',
      cell: ({ attempts }) => {
        const last = attempts.at(-1);
        if (last === undefined) return <span class="quiet">none yet</span>;
        return (
          <span>
            {last.httpStatus ?? 'no response'}
            {last.duration !== undefined && <span class="quiet"> in {durationText(msOf(last.duration))}</span>}
          </span>
        );
      },
    },
    {
      title: 'Error',
      wideOnly: true,
      cell: ({ attempts }) => {
        const error = attempts.at(-1)?.error;
        return error !== undefined && <div class="reason small">{error}</div>;
      },
    },
    { title: 'Next attempt', wideOnly: true, cell: ({ nextAttemptAt }) => nextAttemptAt !== undefined && <Time at={nextAttemptAt} /> },
    { title: 'Event id', wideOnly: true, cell: ({ id }) => <Hash value={id} what="event id" keep={8} /> },
  ];
}

/** A delivery with its attempts and what it posts. */
export function DeliveryDialog({
  notificationId,
  deliveryId,
  onChanged,
  onClose,
}: {
  readonly notificationId: string;
  readonly deliveryId: string;
  readonly onChanged: (delivery: Delivery) => void;
  readonly onClose: () => void;
}) {
  const { data, failure, reload } = useCall(
    async (signal) => (await notifications.getDelivery({ notificationId, deliveryId }, { ...once, signal })).delivery,
    [notificationId, deliveryId],
  );
  const redeliver = useAction(async () => {
    const { delivery } = await notifications.redeliverDelivery({ notificationId, deliveryId }, once);
    if (delivery !== undefined) onChanged(delivery);
    toast('The delivery is pending again.');
    reload();
  });
  return (
    <Dialog title="Delivery" onClose={onClose} wide>
      <div class="dialog-body">
        <FailureNote failure={failure} onRetry={reload} />
        {data === undefined && failure === undefined && <Loading what="the delivery" />}
        {data !== undefined && (
          <>
            <dl class="facts">
              <div>
                <dt>Event</dt>
                <dd>{eventTexts[data.event]}</dd>
              </div>
              <div>
                <dt>Status</dt>
                <dd>
                  <DeliveryBadge status={data.status} />
                </dd>
              </div>
              <div>
                <dt>Happened</dt>
                <dd>
                  <Time at={data.createdAt} />
                </dd>
              </div>
              {data.nextAttemptAt !== undefined && (
                <div>
                  <dt>Next attempt</dt>
                  <dd>
                    <Time at={data.nextAttemptAt} />
                  </dd>
                </div>
              )}
              <div>
                <dt>Event id</dt>
                <dd>
                  <Hash value={data.id} what="event id" keep={12} />
                </dd>
              </div>
            </dl>
            <h3>
              {data.attempts.length === 0 ? 'No delivery attempt yet' : 'Delivery attempts, newest first'}
              {data.attempts.length === 20 && ' (the latest 20)'}
            </h3>
            <ol class="attempts">{data.attempts.map((attempt, index) => <Attempt key={index} attempt={attempt} />).reverse()}</ol>
            {data.body !== undefined && (
              <>
                <div class="page-head">
                  <h3>Body</h3>
                  <CopyButton text={data.body} what="body" />
                </div>
                <CodeBlock label="Body" text={prettyJson(data.body)} />
              </>
            )}
          </>
        )}
        <FailureNote failure={redeliver.failure} />
      </div>
      <footer class="dialog-foot">
        <Button onClick={reload} text="Reload" />
        <Button class="primary" disabled={redeliver.isRunning} onClick={() => void redeliver.run()} text="Redeliver" />
      </footer>
    </Dialog>
  );
}

function Attempt({ attempt }: { readonly attempt: DeliveryAttempt }) {
  const { attemptedAt, httpStatus, duration, error, responseBody } = attempt;
  return (
    <li>
      <div class="toolbar">
        <span class="strong">{httpStatus === undefined ? 'no response' : `HTTP ${httpStatus}`}</span>
        {duration !== undefined && <span class="quiet">in {durationText(msOf(duration))}</span>}
        <Time at={attemptedAt} />
      </div>
      {error !== undefined && <p class="bad-text">{error}</p>}
      {responseBody !== undefined && responseBody !== '' && <CodeBlock label="Response" text={responseBody} />}
    </li>
  );
}
