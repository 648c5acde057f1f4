/** The reference page at `/docs`: Swagger UI with our own style and script. Its links are absolute paths, because it is served with and without a trailing slash. */
export const docsHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Relayer service: API reference</title>
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<header class="masthead">
<a class="product" href="/docs"><img src="/docs/icon.svg" alt="" width="28" height="28">Relayer service</a>
<span class="what">API reference</span>
<nav><a href="/console">console</a><a href="/openapi.json">openapi.json</a><a href="/contract.zip">contract.zip</a><a href="/contract.binpb">contract.binpb</a><button type="button" id="theme" aria-label="Switch between light and dark">◐</button></nav>
</header>
<main id="reference"><noscript>This page needs JavaScript. The same reference for programs: /openapi.json</noscript></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/** The product's logo. */
export const docsIcon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="8" fill="#4338ca"/>
<path d="M6 16h6M20 16h6" stroke="#a5b4fc" stroke-width="2.6" stroke-linecap="round"/>
<circle cx="16" cy="16" r="4.6" fill="none" stroke="#fff" stroke-width="2.6"/>
<path d="M23 12.6 26.4 16 23 19.4" fill="none" stroke="#a5b4fc" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/>
</svg>
`;

/** Starts the reference page. It runs in the browser, so it is JavaScript. */
export const docsScript = `'use strict';

const root = document.documentElement;
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const setTheme = (isDark) => root.classList.toggle('dark-mode', isDark);
setTheme(prefersDark.matches);
prefersDark.addEventListener('change', ({ matches }) => setTheme(matches));
document.getElementById('theme').addEventListener('click', () => setTheme(!root.classList.contains('dark-mode')));

window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  // Keep the API key in this tab only.
  persistAuthorization: false,
  validatorUrl: null,
  queryConfigEnabled: false,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 2,
  defaultModelRendering: 'example',
  syntaxHighlight: { activated: true, theme: 'agate' },
});
`;
