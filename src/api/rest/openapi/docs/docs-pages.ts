import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from '../../../http/page.js';
import { createStaticPage } from '../../../http/static-page.js';
import { docsHtml } from './docs-html.js';
import { docsIcon } from './docs-icon.js';
import { docsScript } from './docs-script.js';
import { docsStyle } from './docs-style.js';

/** Only what this service itself serves, and no script or style in the page; pictures may be written out in the style. */
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

const javascript = 'text/javascript; charset=utf-8';
const css = 'text/css; charset=utf-8';

/** Makes the reference page at `/docs`, and what it is made of: Swagger UI from its package, with a style and a start of our own. */
export function createDocsPages(): readonly Page[] {
  return [
    createStaticPage({
      path: '/docs',
      contentType: 'text/html; charset=utf-8',
      load: () => docsHtml,
      headers: [
        ['content-security-policy', contentSecurityPolicy],
        ['referrer-policy', 'no-referrer'],
      ],
    }),
    createStaticPage({ path: '/docs/start.js', contentType: javascript, load: () => docsScript }),
    createStaticPage({ path: '/docs/icon.svg', contentType: 'image/svg+xml', load: () => docsIcon }),
    createStaticPage({ path: '/docs/style.css', contentType: css, load: () => docsStyle }),
    packagePage('swagger-ui-bundle.js', javascript),
    packagePage('swagger-ui.css', css),
  ];
}

function packagePage(file: string, contentType: string): Page {
  return createStaticPage({
    path: `/docs/${file}`,
    contentType,
    load: () => readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`)),
  });
}
