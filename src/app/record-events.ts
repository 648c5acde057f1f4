import { renderRelayer, renderTransaction } from '../api/rest/render-record.js';
import { protoOfRelayer } from '../api/services/relayers/relayer.js';
import { protoOfTransaction } from '../api/services/transactions/transaction.js';
import { eventFor, relayerEventFor } from '../core/notification/events.js';
import type { RecordEvent, RecordRelayerState } from '../core/ports/record-event.js';
import type { Changes } from '../core/ports/store/store.js';
import { systemIds } from '../core/records/ids.js';
import type { Relayer } from '../core/records/relayer.js';
import type { Clock } from '../core/work/clock.js';

/** Makes the changes that record events, which show records as REST does. */
export function createRecordEvents(
  change: Changes,
  clock: Clock,
): { readonly recordEvent: RecordEvent; readonly recordRelayerState: RecordRelayerState } {
  const eventDeps = {
    change,
    clock,
    ids: systemIds,
    renderTransaction: (view: Parameters<RecordEvent>[1]) => renderTransaction(protoOfTransaction(view)),
    renderRelayer: (relayer: Relayer) => renderRelayer(protoOfRelayer(relayer)),
  };
  const recordEvent: RecordEvent = (relayer, view) => {
    const event = eventFor(eventDeps, relayer, view);
    return event === null ? [] : [event];
  };
  const recordRelayerState: RecordRelayerState = (relayer, name) => {
    const event = relayerEventFor(eventDeps, relayer, name);
    return event === null ? [] : [event];
  };
  return { recordEvent, recordRelayerState };
}
