/*
 * Serves the page on its own origin, as for a real app. Allow that origin in the service:
 *
 *   CORS_ALLOWED_ORIGINS=http://127.0.0.1:5173 npm start
 *   npm run build && node dist/examples/browser/serve.js
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';

// Run from the project's folder.
const here = (name: string) => `examples/browser/${name}`;
const { outputFiles } = await build({ entryPoints: [here('page.ts')], bundle: true, format: 'esm', target: 'es2022', write: false });
const pages = new Map([
  ['/', { type: 'text/html; charset=utf-8', body: await readFile(here('index.html')) }],
  ['/page.js', { type: 'text/javascript; charset=utf-8', body: Buffer.from(outputFiles[0]?.contents ?? '') }],
]);

const server = createServer((request, response) => {
  const page = pages.get(request.url ?? '');
  if (page === undefined) response.writeHead(404).end();
  else response.writeHead(200, { 'content-type': page.type }).end(page.body);
});
server.listen(Number(process.env.PAGE_PORT ?? 5173), '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.stdout.write(`open ${origin}/ (the service needs CORS_ALLOWED_ORIGINS=${origin})\n`);
});
