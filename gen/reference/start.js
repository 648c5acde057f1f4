'use strict';

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
