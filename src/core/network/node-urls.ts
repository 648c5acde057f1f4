import { invalidField } from '../errors.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Definition } from '../ports/store.js';
import type { RpcUrl } from '../relayer/network.js';

const maxUrls = 20;
const maxLength = 2048;
/** What stands after the host of an address that is shown. */
const mask = '/***';

/** A node's address as it is shown: masked after the host, since providers' keys stand there. */
export function maskedUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}${mask}`;
}

/**
 * Checks the nodes that a caller names: http or https, at most 20, one at least of a weight above 0. Throws `FIELD_INVALID` naming the
 * item; the address is not in the sentence, since it may hold a provider's key. A masked address is refused: whoever sends back what was
 * shown would lose the key.
 */
export function checkNodeUrls(field: string, urls: readonly RpcUrl[]): void {
  if (urls.length > maxUrls) throw invalidField(field, `must have at most ${maxUrls} items`);
  for (const [index, { url }] of urls.entries()) checkNodeUrl(`${field}[${index}].url`, url);
  if (urls.length > 0 && urls.every(({ weight }) => weight === 0)) throw invalidField(field, 'must have one whose weight is above 0');
}

function checkNodeUrl(field: string, text: string): void {
  if (text.length > maxLength) throw invalidField(field, `must be at most ${maxLength} characters`);
  if (!/^https?:\/\/[^\s\p{Cc}]+$/iu.test(text) || !URL.canParse(text)) {
    throw invalidField(field, 'must be a URL that begins with http:// or https://');
  }
  if (text.endsWith(mask)) throw invalidField(field, 'is masked: give the whole address');
}

/** Addresses of nodes as they are stored: sealed, since providers' keys stand in them. Null for none. */
export function sealedUrls(
  secretBox: Pick<SecretBox, 'seal'>,
  { kind, id }: Pick<Definition, 'kind' | 'id'>,
  urls: readonly RpcUrl[],
): string | null {
  return urls.length === 0 ? null : secretBox.seal(JSON.stringify(urls), `${kind}:${id}`);
}

/** The addresses that a definition holds. Throws where they were sealed under another key. */
export function urlsOf(secretBox: Pick<SecretBox, 'open'>, { kind, id, sealed }: Definition): readonly RpcUrl[] {
  return sealed === null ? [] : (JSON.parse(secretBox.open(sealed, `${kind}:${id}`)) as RpcUrl[]);
}
