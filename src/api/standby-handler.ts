import type { ConnectRouter } from '@connectrpc/connect';
import { DomainError } from '../core/errors.js';
import type { AuditLog, Log } from '../core/ports/log.js';
import type { Readiness } from './contract/readiness.js';
import type { Authenticate } from './guards/access.js';
import { createHandler } from './handler.js';
import type { Cors } from './http/cors.js';
import type { ApiRequest, ApiResponse } from './http/header.js';
import type { Page } from './http/page.js';
import { compileRest, createRestGateway } from './rest/gateway.js';

/** The readiness that `/ready` shows while the instance is a standby. */
export const standbyReadiness: Readiness = {
  ready: false,
  components: { store: 'used by another instance', service: 'standby' },
  networks: {},
};

/** How soon a caller may try again: by then, its load balancer has found another instance, or this one has taken over. */
const retryAfterMs = 1_000;

/** The parts of a standby's handler. */
export interface StandbyHandlerOptions {
  /** Registers the public services. */
  readonly services: (router: ConnectRouter) => void;
  readonly pages: readonly Page[];
  readonly authenticate: Authenticate;
  readonly cors: Cors;
  readonly newRequestId: () => string;
  readonly shutdownSignal: AbortSignal;
  readonly log: Log & AuditLog;
}

/** Creates the handler of an instance that waits for the database: its pages and public services answer, and everything else is UNAVAILABLE (503). */
export function createStandbyHandler(options: StandbyHandlerOptions): (request: ApiRequest, response: ApiResponse) => void {
  return createHandler({
    ...options,
    plans: [],
    rest: createRestGateway({ compiled: compileRest([]), served: [], interceptors: [], networkTypeOf: () => undefined, log: options.log }),
    interceptors: [],
    rateLimit: null,
    auditRefusal: () => undefined,
    closed: () =>
      new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'this instance is a standby; another instance serves the calls', {
        retryAfterMs,
      }),
  });
}
