import { readFile } from 'node:fs/promises';
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
 * and their descriptors as `/contract.binpb`. `npm run generate` and the build have written all of them, so the service serves files and
 * computes nothing.
 * @param fileOf returns a file of the package by its path
 */
export function createReferencePages(fileOf: (path: string) => URL): readonly Page[] {
  const servedAs = (path: string, file: string, contentType: string) =>
    createStaticPage({ path, contentType, load: () => readFile(fileOf(file)) });
  return [
    rootPage,
    createHtmlPage('/docs', () => readFile(fileOf('gen/reference/docs.html'))),
    servedAs('/docs/start.js', 'gen/reference/start.js', javascript),
    servedAs('/docs/icon.svg', 'gen/reference/icon.svg', 'image/svg+xml'),
    servedAs('/docs/style.css', 'gen/reference/style.css', css),
    servedAs('/docs/swagger-ui-bundle.js', 'dist/reference/swagger-ui-bundle.js', javascript),
    servedAs('/docs/swagger-ui.css', 'dist/reference/swagger-ui.css', css),
    servedAs('/openapi.json', 'gen/reference/openapi.json', 'application/json'),
    servedAs('/contract.zip', 'gen/contract/contract.zip', 'application/zip'),
    servedAs('/contract.binpb', 'gen/contract/contract.binpb', 'application/octet-stream'),
  ];
}
