import type { Dialect } from '../sql/dialect.js';
import { apiKeyStatements } from './api-keys.js';
import { attemptStatements } from './attempts.js';
import { changePositionStatements } from './change-positions.js';
import { databaseIdStatements } from './database-ids.js';
import { databaseSecretStatements } from './database-secret.js';
import { definitionStatements, fileEntryStatements } from './definitions.js';
import { deliveryAttemptStatements, eventStatements } from './events.js';
import { instanceStatements } from './instances.js';
import { laneViewStatements } from './lane-views.js';
import { laneStatements } from './lanes.js';
import { leaseStatements } from './leases.js';
import { notificationStatements } from './notifications.js';
import { storedResponseStatements } from './stored-responses.js';
import { transactionChangeStatements } from './transaction-changes.js';
import { transactionStatements } from './transactions.js';

/** All statements, compiled for one dialect. */
export type Statements = ReturnType<typeof compileStatements>;

/** Compiles all statements for a dialect. */
export function compileStatements(dialect: Dialect) {
  const { builder, hasSeveralWriters } = dialect;
  return {
    transactions: transactionStatements(builder),
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
    definitions: definitionStatements(builder),
    instances: instanceStatements(builder),
    leases: leaseStatements(builder),
    databaseSecret: databaseSecretStatements(builder),
    changePositions: changePositionStatements(builder),
    databaseIds: databaseIdStatements(dialect),
  };
}
