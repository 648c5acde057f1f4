import type { Changes, Reads } from '../../core/ports/store/store.js';
import type { Dialect } from '../sql/dialect.js';
import type { Query } from '../sql/statement.js';
import { apiKeyChanges, apiKeyReads, apiKeyStatements } from './api-keys.js';
import { attemptChanges, attemptReads, attemptStatements } from './attempts.js';
import { auditLineChanges, auditLineReads, auditLineStatements } from './audit-lines.js';
import { databaseChanges, databaseIdStatements, databaseReads, databaseSecretStatements } from './database.js';
import { definitionChanges, definitionReads, definitionStatements, fileEntryStatements } from './definitions.js';
import { deliveryAttemptStatements, eventChanges, eventReads, eventStatements } from './events.js';
import { changePositionStatements, feedReads, transactionChangeStatements } from './feed.js';
import { filteredListStatements } from './filtered-statements.js';
import { instanceStatements } from './instances.js';
import { laneViewReads, laneViewStatements } from './lane-views.js';
import { laneChanges, laneReads, laneStatements } from './lanes.js';
import { leaseStatements } from './leases.js';
import { notificationChanges, notificationReads, notificationStatements } from './notifications.js';
import { rewindStatements } from './rewinds.js';
import { spendingChanges, spendingReads, spendingStatements } from './spending.js';
import { storedResponseChanges, storedResponseReads, storedResponseStatements } from './stored-responses.js';
import { transactionListReads, transactionListStatements } from './transaction-lists.js';
import { transactionChanges, transactionReads, transactionStatements } from './transactions.js';

/** All statements, compiled for one dialect. */
export type Statements = ReturnType<typeof compileStatements>;

/** Compiles all statements for a dialect. */
export function compileStatements(dialect: Dialect) {
  const { builder, hasSeveralWriters } = dialect;
  return {
    transactions: transactionStatements(builder),
    transactionLists: transactionListStatements(builder),
    filteredLists: filteredListStatements(dialect),
    transactionChanges: transactionChangeStatements(builder),
    attempts: attemptStatements(builder),
    lanes: laneStatements(builder),
    laneViews: laneViewStatements(dialect),
    notifications: notificationStatements(builder),
    fileEntries: fileEntryStatements(builder),
    events: eventStatements(builder, hasSeveralWriters),
    deliveryAttempts: deliveryAttemptStatements(builder),
    storedResponses: storedResponseStatements(builder),
    apiKeys: apiKeyStatements(builder),
    spending: spendingStatements(builder),
    auditLines: auditLineStatements(builder),
    definitions: definitionStatements(builder),
    instances: instanceStatements(dialect),
    leases: leaseStatements(builder),
    databaseSecret: databaseSecretStatements(builder),
    changePositions: changePositionStatements(builder),
    databaseIds: databaseIdStatements(dialect),
    rewinds: rewindStatements(builder),
  };
}

/** Makes the reads of a store. */
export function createReads(statements: Statements, query: Query): Reads {
  return {
    ...transactionReads(statements.transactions, query),
    ...transactionListReads(statements, query),
    ...attemptReads(statements.attempts, query),
    ...feedReads(statements, query),
    ...laneViewReads(statements.laneViews, query),
    ...laneReads(statements.lanes, query),
    ...eventReads(statements, query),
    ...notificationReads(statements.notifications, query),
    ...storedResponseReads(statements.storedResponses, query),
    ...apiKeyReads(statements.apiKeys, query),
    ...spendingReads(statements.spending, query),
    ...auditLineReads(statements.auditLines, query),
    ...definitionReads(statements, query),
    ...databaseReads(statements, query),
  };
}

/** Makes the builders of changes. */
export function createChanges(statements: Statements): Changes {
  return {
    ...transactionChanges(statements),
    ...attemptChanges(statements.attempts),
    ...laneChanges(statements.lanes),
    ...eventChanges(statements),
    ...notificationChanges(statements.notifications, statements.events),
    ...storedResponseChanges(statements.storedResponses),
    ...apiKeyChanges(statements.apiKeys),
    ...spendingChanges(statements.spending),
    ...auditLineChanges(statements.auditLines),
    ...definitionChanges(statements),
    ...databaseChanges(statements),
  };
}
