import { DomainError } from '../core/errors/errors.js';
import type { Clock } from '../core/work/clock.js';
import { requestIdOf } from './guards/request-head.js';
import { drainAfterAnswer, writeAnswer } from './http/answer.js';
import type { ApiRequest, ApiResponse } from './http/header.js';
import { createReadyPage, healthPage, type SystemState } from './http/operator-pages.js';
import { servePage } from './http/pages-handler.js';
import { protectiveHeaders } from './http/protective-headers.js';
import { errorAnswer } from './rest/gateway.js';
import { writeProtocolError } from './rpc/protocol-error.js';
import { isRpc } from './target.js';

/** What the handler of a start needs. */
export interface StartingDeps {
  readonly clock: Clock;
  readonly system: () => Promise<SystemState>;
  readonly newRequestId: () => string;
  /** What the start does now, without addresses and causes: it is public. */
  readonly stage: () => string;
}

/**
 * Creates the handler of a service that starts, which may wait for its database for long: it lives, so nothing must restart it, is not
 * ready, and serves nothing else.
 */
export function createStartingHandler({ clock, system, newRequestId, stage }: StartingDeps) {
  const readiness = async () => ({ ready: false, components: { service: `starting: ${stage()}` }, networks: {} });
  const pages = [healthPage, createReadyPage(readiness, { clock, system })];

  return (request: ApiRequest, response: ApiResponse): void => {
    const path = (request.url ?? '').replace(/\?.*$/s, '').replace(/\/$/, '');
    const requestId = requestIdOf(request, newRequestId);
    const headers = [['x-request-id', requestId], ...protectiveHeaders(request)] as const;
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    drainAfterAnswer(request, response);
    if (servePage(pages, request, response, headers)) return;
    const failure = new DomainError('unavailable', 'SERVICE_UNAVAILABLE', `the service is starting: ${stage()}; retry`);
    if (isRpc(path, request.headers['content-type'])) {
      writeProtocolError(request, response, failure, { requestId, headers: [...headers] });
      return;
    }
    const answer = errorAnswer(failure, { warnings: [], traceId: null });
    writeAnswer(request, response, { ...answer, headers: [...headers, ['content-type', 'application/json'], ...answer.headers] });
  };
}
