import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createHtmlPage } from './html-page.js';
import type { Page } from './page.js';
import { createStaticPage } from './static-page.js';

const javascript = 'text/javascript; charset=utf-8';
const css = 'text/css; charset=utf-8';

/** Leads a browser that opens the service's address to the reference page. */
const rootPage: Page = {
  path: '/',
  scope: 'public',
  render: () => ({ status: 302, contentType: 'text/plain; charset=utf-8', headers: [['location', '/docs']], body: 'See /docs\n' }),
};

/**
 * Creates the reference of the API: `/docs` for people, `/openapi.json` for programs, and the definitions for clients as `/contract.zip`
 * and their descriptors as `/contract.binpb`. `npm run generate` has written all of them, so the service serves files and computes nothing.
 * @param fileOf returns a generated file by its path under `gen`
 */
export function createReferencePages(fileOf: (path: string) => URL): readonly Page[] {
  const generated = (path: string, file: string, contentType: string) =>
    createStaticPage({ path, contentType, load: () => readFile(fileOf(file)) });
  return [
    rootPage,
    createHtmlPage('/docs', () => readFile(fileOf('reference/docs.html'))),
    generated('/docs/start.js', 'reference/start.js', javascript),
    generated('/docs/icon.svg', 'reference/icon.svg', 'image/svg+xml'),
    generated('/docs/style.css', 'reference/style.css', css),
    packagePage('swagger-ui-bundle.js', javascript),
    packagePage('swagger-ui.css', css),
    generated('/openapi.json', 'reference/openapi.json', 'application/json'),
    generated('/contract.zip', 'contract/contract.zip', 'application/zip'),
    generated('/contract.binpb', 'contract/contract.binpb', 'application/octet-stream'),
  ];
}

function packagePage(file: string, contentType: string): Page {
  return createStaticPage({
    path: `/docs/${file}`,
    contentType,
    load: () => readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`)),
  });
}
