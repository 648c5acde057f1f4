import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { Call } from '../../src/api/contract/call.js';
import type { ApiRequest, ApiResponse } from '../../src/api/http/header.js';
import { createRequestWatch } from '../../src/api/request-watch.js';
import { noTelemetry } from '../../src/core/ports/telemetry.js';
import { noLog } from '../../src/core/work/log.js';

/** Returns the statuses of the request lines about a call whose audit line has this status. */
function loggedStatuses(auditedStatus: number | null, { headersSent = true, statusCode = 200 } = {}): unknown[] {
  const statuses: unknown[] = [];
  const log = { ...noLog, info: (fields: object) => void statuses.push((fields as { readonly status: number }).status) };
  const request = { method: 'POST', headers: {} } as ApiRequest;
  const response = Object.assign(new EventEmitter(), { headersSent, statusCode });
  const target = { kind: 'none', rpc: false } as const;
  const watch = createRequestWatch(log, noTelemetry);
  const watched = watch({ request, response: response as unknown as ApiResponse, path: '/', requestId: 'r', target });
  watched.call = { auditedStatus, failure: null } as Call;
  response.emit('close');
  return statuses;
}

test('request log: has no line about a request whose audit line is in the log', () => {
  assert.deepEqual(loggedStatuses(200), []);
  assert.deepEqual(loggedStatuses(null), [200]);
});

test('request log: has a line about a request that ended otherwise than its audit line says', () => {
  assert.deepEqual(loggedStatuses(200, { statusCode: 500 }), [500]);
  // The caller left before there was an answer.
  assert.deepEqual(loggedStatuses(200, { headersSent: false }), [499]);
});
