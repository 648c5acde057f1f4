import type { Page } from './page.js';
import { createStaticPage, type StaticContent } from './static-page.js';

/** Allows only what this service serves: no inline script or style. Styles may contain their pictures as `data:` URLs. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Creates a public page for browsers, which may use what this service serves and nothing else. */
export function createHtmlPage(path: string, load: StaticContent['load']): Page {
  return createStaticPage({
    path,
    contentType: 'text/html; charset=utf-8',
    load,
    headers: [
      ['content-security-policy', contentSecurityPolicy],
      ['referrer-policy', 'no-referrer'],
      ['cross-origin-opener-policy', 'same-origin'],
    ],
  });
}
