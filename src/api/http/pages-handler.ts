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

/** Creates the handler of an address that serves these public pages and nothing else. */
export function createPagesHandler(pages: readonly Page[]): ServerOptions['handler'] {
  return (request, response) => {
    const headers = protectiveHeaders(request);
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    drainAfterAnswer(request, response);
    if (servePage(pages, request, response, headers)) return;
    const body = `not found; this port serves ${pages.map(({ path }) => path).join(' and ')}\n`;
    writeAnswer(request, response, { status: 404, headers: [...headers, ['content-type', 'text/plain; charset=utf-8']], body });
  };
}
