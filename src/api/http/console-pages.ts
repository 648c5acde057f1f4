import { readFile } from 'node:fs/promises';
import { createHtmlPage } from './html-page.js';
import type { Page } from './page.js';
import { createStaticPage } from './static-page.js';

/**
 * Creates the operators' console at `/console`, and its script and style, which the build has bundled.
 * @param fileOf returns a file of the bundle by its name
 */
export function createConsolePages(fileOf: (name: string) => URL): readonly Page[] {
  const asset = (name: string, contentType: string) =>
    createStaticPage({ path: `/console/${name}`, contentType, load: () => readFile(fileOf(name)) });
  return [
    createHtmlPage('/console', () => consoleHtml),
    asset('console.js', 'text/javascript; charset=utf-8'),
    asset('console.css', 'text/css; charset=utf-8'),
  ];
}

/** The page. Its links are absolute paths, because it is served with and without a trailing slash. */
const consoleHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Relayer console</title>
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
<link rel="stylesheet" href="/console/console.css">
<script type="module" src="/console/console.js"></script>
</head>
<body>
<div id="console"></div>
<noscript>This page needs JavaScript.</noscript>
</body>
</html>
`;
