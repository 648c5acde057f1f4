import { compileMethodPlans } from '../../../src/api/contract/method-plan.js';
import { contractServices } from '../../../src/api/services/services.js';
import { packageVersion } from '../../../src/config/package-version.js';
import { docsHtml, docsIcon, docsScript } from './docs-page.js';
import { docsStyle } from './docs-style.js';
import { documentText, openApiDocument } from './document.js';

/** Returns the files of the API's reference by name: the OpenAPI document, and the page with its assets. Throws if a definition has no form in the document. */
export function referenceFiles(): Readonly<Record<string, string>> {
  return {
    'openapi.json': documentText(openApiDocument({ plans: compileMethodPlans(contractServices), version: packageVersion() })),
    'docs.html': docsHtml,
    'start.js': docsScript,
    'style.css': docsStyle,
    'icon.svg': docsIcon,
  };
}
