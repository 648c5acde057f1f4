import type { Page } from '../page.js';
import { type DocumentParts, documentText, openApiDocument } from '../rest/openapi/document.js';
import { createStaticPage } from './static-page.js';

/** The OpenAPI document, made when it is first asked for. */
export function createOpenApiPage(parts: DocumentParts): Page {
  return createStaticPage({
    path: '/openapi.json',
    contentType: 'application/json',
    load: () => documentText(openApiDocument(parts)),
  });
}
