import type { Changes } from '../core/ports/store/store.js';
import type { TransactionUpdate } from '../core/ports/store/transactions.js';
import { isFinal, type Transaction } from '../core/records/transaction.js';
import { BoundChange, guarded, step } from './sql/bound-change.js';
import type { Statements } from './statements/all-statements.js';
import { apiKeyChanges } from './statements/api-keys.js';
import { rowFromAttempt } from './statements/attempts.js';
import { definitionChanges } from './statements/definitions.js';
import { deliveryAttemptMapping, eventMapping } from './statements/events.js';
import { laneChanges } from './statements/lanes.js';
import { notificationMapping } from './statements/notifications.js';
import { storedResponseChanges } from './statements/stored-responses.js';
import { rowFromTransaction } from './statements/transaction-rows.js';

/** The builders of changes. */
export function createChanges(statements: Statements): Changes {
  const { transactions, attempts, notifications, events, deliveryAttempts, changePositions } = statements;

  function insertTransaction(transaction: Transaction): BoundChange {
    const isEnded = isFinal(transaction.status);
    const row = rowFromTransaction(transaction, null, isEnded ? transaction.updatedAtMs : null);
    return new BoundChange('insertTransaction', {
      countedFor: row.relayer_id,
      stepsAt(positionsBack) {
        row.positions_back = positionsBack;
        const insert = guarded(transactions.insert, row);
        return isEnded ? [insert, step(transactions.addInserted, row)] : [insert];
      },
    });
  }

  function updateTransaction(
    next: Transaction,
    { revisionBefore = next.revision - 1, endedAtMs = next.updatedAtMs }: TransactionUpdate = {},
  ): BoundChange {
    const row = rowFromTransaction(next, revisionBefore, endedAtMs);
    return new BoundChange('updateTransaction', {
      countedFor: row.relayer_id,
      stepsAt(positionsBack) {
        row.positions_back = positionsBack;
        if (!isFinal(next.status)) return [guarded(transactions.update, row)];
        return [step(transactions.addFinished, row), guarded(transactions.finish, row)];
      },
    });
  }

  return {
    ...apiKeyChanges(statements.apiKeys),
    ...definitionChanges(statements),
    ...laneChanges(statements.lanes),
    ...storedResponseChanges(statements.storedResponses),
    insertTransaction,
    updateTransaction,
    removeTransaction: (id) =>
      new BoundChange('removeTransaction', [
        step(changePositions.noteRemoved, { id }),
        step(transactions.subtractFinished, { id }),
        step(attempts.deleteOf, { transaction_id: id }),
        step(events.deleteFinishedOf, { order_key: id }),
        guarded(transactions.deleteFinal, { id }),
      ]),
    moveTransaction: (id, from, to) => new BoundChange('moveTransaction', [guarded(transactions.moveOrdinal, { id, from, to })]),
    replaceDatabaseId: (id) => new BoundChange('replaceDatabaseId', [step(statements.databaseIds.replace, { number: 1, id })]),
    confirmTime: (timeMs) =>
      new BoundChange('confirmTime', [step(statements.instances.confirmTime, { number: 1, confirmed_time_ms: timeMs })]),
    insertAttempt: (attempt) => new BoundChange('insertAttempt', [guarded(attempts.insert, rowFromAttempt(attempt))]),
    insertEvent: (event) => {
      const row = eventMapping.toRow(event);
      return new BoundChange('insertEvent', [...events.insertLocks.map((lock) => step(lock, row)), guarded(events.insert, row)]);
    },
    updateEvent: ({ id, status, attempts: tries, nextAttemptAtMs }, attemptsBefore = null) => {
      const row = { id, status, attempts: tries, next_attempt_at_ms: nextAttemptAtMs };
      const update =
        attemptsBefore === null ? guarded(events.update, row) : guarded(events.updateIf, { ...row, attempts_before: attemptsBefore });
      return new BoundChange('updateEvent', [update, step(events.releaseNext, { id })]);
    },
    redeliverEvent: ({ id, notificationId, nextAttemptAtMs }) =>
      new BoundChange('redeliverEvent', [
        guarded(events.redeliver, { id, notification_id: notificationId, next_attempt_at_ms: nextAttemptAtMs }),
        step(events.holdLater, { id }),
      ]),
    insertDeliveryAttempt: (eventId, attempt) =>
      new BoundChange('insertDeliveryAttempt', [
        guarded(deliveryAttempts.insert, { ...deliveryAttemptMapping.toRow(attempt), event_id: eventId }),
        step(deliveryAttempts.deleteOldest, { event_id: eventId }),
      ]),
    deleteFinishedEvent: (id) => new BoundChange('deleteFinishedEvent', [step(events.deleteFinished, { id })]),
    insertNotification: (notification) =>
      new BoundChange('insertNotification', [guarded(notifications.insert, notificationMapping.toRow(notification))]),
    updateNotification: (next) =>
      new BoundChange('updateNotification', [
        guarded(notifications.update, { ...notificationMapping.toRow(next), revision_before: next.revision - 1 }),
      ]),
    resealNotification: ({ id, revision, url, sealedSigningKey, retiredKeys }) =>
      new BoundChange('resealNotification', [
        guarded(notifications.reseal, {
          id,
          revision,
          url,
          sealed_signing_key: sealedSigningKey,
          retired_keys: JSON.stringify(retiredKeys),
        }),
      ]),
    markNotificationGone: ({ id, revision }, goneAtMs) =>
      new BoundChange('markNotificationGone', [step(notifications.markGone, { id, revision, gone_at_ms: goneAtMs })]),
    insertDatabaseSecret: (sealed) =>
      new BoundChange('insertDatabaseSecret', [guarded(statements.databaseSecret.insert, { number: 1, sealed })]),
    resealDatabaseSecret: (sealed) =>
      new BoundChange('resealDatabaseSecret', [guarded(statements.databaseSecret.reseal, { number: 1, sealed })]),
    closeRelayer: (id) =>
      // Taking a position locks the row against sends of other instances.
      new BoundChange('closeRelayer', { countedFor: id, stepsAt: () => [guarded(changePositions.close, { relayer_id: id })] }),
    reopenRelayer: (id) => new BoundChange('reopenRelayer', [step(changePositions.reopen, { relayer_id: id })]),
    deleteNotification: ({ id, revision }) =>
      new BoundChange('deleteNotification', [
        guarded(notifications.delete, { id, revision }),
        step(events.deleteUndelivered, { notification_id: id }),
      ]),
  };
}
