import type { Page } from '../page.js';
import { type DocumentParts, documentText, openApiDocument } from '../rest/openapi/document.js';
import { createStaticPage } from './static-page.js';

/** The OpenAPI document. Throws where a definition has no form in it: the service must not start then. */
export function createOpenApiPage(parts: DocumentParts): Page {
  const text = documentText(openApiDocument(parts));
  return createStaticPage({ path: '/openapi.json', contentType: 'application/json', load: () => text });
}
