import { DomainError } from '../../core/errors.js';

/** Parameters other than the charset say nothing about how JSON is read. */
const jsonPattern = /^application\/json[\t ]*(?:;(.*))?$/i;
const foreignCharset = /(?:^|;)[\t ]*charset[\t ]*=[\t ]*(?!"?utf-8"?[\t ]*(?:;|$))/i;

/** Throws `unsupported_media_type` CONTENT_TYPE_UNSUPPORTED where a body says that it is anything but JSON in UTF-8. One that says nothing is read as JSON. */
export function checkContentType(contentType: string | undefined): void {
  if (contentType === undefined) return;
  const match = jsonPattern.exec(contentType);
  if (match !== null && !foreignCharset.test(match[1] ?? '')) return;
  throw new DomainError('unsupported_media_type', 'CONTENT_TYPE_UNSUPPORTED', 'the body must be application/json, in UTF-8');
}
