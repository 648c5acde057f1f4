/** The reference page. Its links are whole paths, since it is there with and without a slash at its end. */
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
<nav><a href="/openapi.json">openapi.json</a><button type="button" id="theme" aria-label="Light or dark">◐</button></nav>
</header>
<main id="reference"><noscript>This page needs JavaScript; /openapi.json is the same for programs.</noscript></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;
