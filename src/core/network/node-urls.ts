import { invalidField } from '../errors.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Definition } from '../ports/store.js';
import type { RpcUrl } from '../relayer/network.js';

const maxUrls = 20;
const maxLength = 2048;
/** Replaces everything after the host of a shown URL. */
const mask = '/***';

/** Masks an RPC URL after its host, where providers put API keys. */
export function maskedUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}${mask}`;
}

/**
 * Checks a caller's RPC URLs: http or https, at most 20, at least one with a weight above 0. Throws `FIELD_INVALID` naming the item. The text
 * never contains the URL, which may hold a provider's key. A masked URL is refused: a caller who sends back what it read would lose the key.
 */
export function checkNodeUrls(field: string, urls: readonly RpcUrl[]): void {
  if (urls.length > maxUrls) throw invalidField(field, `must have at most ${maxUrls} items`);
  for (const [index, { url }] of urls.entries()) checkNodeUrl(`${field}[${index}].url`, url);
  if (urls.length > 0 && urls.every(({ weight }) => weight === 0))
    throw invalidField(field, 'must have at least one item with a weight above 0');
}

function checkNodeUrl(field: string, text: string): void {
  if (text.length > maxLength) throw invalidField(field, `must be at most ${maxLength} characters`);
  if (!/^https?:\/\/[^\s\p{Cc}]+$/iu.test(text) || !URL.canParse(text)) {
    throw invalidField(field, 'must be a URL that begins with http:// or https://');
  }
  if (text.endsWith(mask)) throw invalidField(field, 'is masked; send the complete URL');
}

/** Seals RPC URLs for storage, because they contain providers' keys. Null if there are none. */
export function sealedUrls(
  secretBox: Pick<SecretBox, 'seal'>,
  { kind, id }: Pick<Definition, 'kind' | 'id'>,
  urls: readonly RpcUrl[],
): string | null {
  return urls.length === 0 ? null : secretBox.seal(JSON.stringify(urls), `${kind}:${id}`);
}

/** Opens the RPC URLs of a definition. Throws if they were sealed under another key. */
export function urlsOf(secretBox: Pick<SecretBox, 'open'>, { kind, id, sealed }: Definition): readonly RpcUrl[] {
  return sealed === null ? [] : (JSON.parse(secretBox.open(sealed, `${kind}:${id}`)) as RpcUrl[]);
}
