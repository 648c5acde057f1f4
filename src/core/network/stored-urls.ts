import type { SecretBox } from '../ports/secret-box.js';
import type { Definition } from '../ports/store.js';
import type { RpcUrl } from '../relayer/network.js';

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
