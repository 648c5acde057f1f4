import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { referenceFiles } from './openapi/reference-files.js';

/* Writes gen/reference: the OpenAPI document and the reference page, which the service serves as they are. A part of `npm run generate`. */

const folder = 'gen/reference';
// First, so that an inconsistent definition leaves the earlier files.
const files = Object.entries(referenceFiles());
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, content] of files) writeFileSync(`${folder}/${name}`, content);
