import type { Page } from '../../../http/page.js';
import { createStaticPage } from '../../../http/static-page.js';
import { type DocumentParts, documentText, openApiDocument } from '../document.js';

/** The OpenAPI document. Throws where a definition has no form in it: the service must not start then. */
export function createOpenApiPage(parts: DocumentParts): Page {
  const text = documentText(openApiDocument(parts));
  return createStaticPage({ path: '/openapi.json', contentType: 'application/json', load: () => text });
}
