/** Replaces everything after the host of a shown URL. */
const mask = '/***';

/** Masks a URL that holds more than its host, where providers put API keys and webhooks their tokens. Another one is shown as it is. */
export function maskedUrl(url: string): string {
  const { protocol, host, username, password, pathname, search, hash } = new URL(url);
  const isPlain = pathname === '/' && [username, password, search, hash].every((part) => part === '');
  return isPlain ? url : `${protocol}//${host}${mask}`;
}

/** True for a URL as `maskedUrl` shows it: in an update it means the stored one, and nothing else takes it. */
export function isMasked(url: string): boolean {
  return url.endsWith(mask);
}

/** Why a masked URL is refused, to follow the field's name. */
export const whyMaskedRefused = 'is masked; send the complete URL';
