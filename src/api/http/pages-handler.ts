import { breakOff, drainAfterAnswer, writeAnswer } from './answer.js';
import type { ApiRequest, ApiResponse, Header } from './header.js';
import type { Page } from './page.js';
import { protectiveHeaders } from './protective-headers.js';
import type { ServerOptions } from './server.js';

/**
 * Answers with a public page if the request is for one; false: it is not. `headers`: besides the page's own. An answer that fails
 * breaks the connection off.
 */
export function servePage(pages: readonly Page[], request: ApiRequest, response: ApiResponse, headers: readonly Header[]): boolean {
  const path = (request.url ?? '').replace(/\?.*$/s, '').replace(/\/$/, '');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const page = isRead ? pages.find((one) => one.path === path) : undefined;
  if (page === undefined) return false;
  Promise.resolve(page.render(request, null)).then(
    ({ status, contentType, body }) =>
      writeAnswer(request, response, { status, headers: [...headers, ['content-type', contentType]], body }),
    () => breakOff(response),
  );
  return true;
}

/** Answers that are written at a time: each may be megabytes, and callers who need no key may read slowly. */
const maxAnswers = 8;

/** Creates the handler of an address that serves these public pages and nothing else. Beyond some answers at a time it says 503. */
export function createPagesHandler(pages: readonly Page[]): ServerOptions['handler'] {
  let answers = 0;
  return (request, response) => {
    const headers = protectiveHeaders(request);
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    drainAfterAnswer(request, response);
    answers += 1;
    response.once('close', () => {
      answers -= 1;
    });
    if (answers <= maxAnswers && servePage(pages, request, response, headers)) return;
    const [status, body] =
      answers > maxAnswers
        ? ([503, `busy: ${maxAnswers} answers are being written; retry\n`] as const)
        : ([404, `not found; this port serves ${pages.map(({ path }) => path).join(' and ')}\n`] as const);
    writeAnswer(request, response, { status, headers: [...headers, ['content-type', 'text/plain; charset=utf-8']], body });
  };
}
