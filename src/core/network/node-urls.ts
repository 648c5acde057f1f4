import { type FieldProblem, throwProblems } from '../errors/errors.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Definition } from '../records/definition.js';
import type { RpcUrl } from '../records/network.js';
import { syntaxes, textProblem } from '../text/text-syntax.js';
import type { NodeUrlPolicy } from './node-url-policy.js';

const maxUrls = 20;
/** Replaces everything after the host of a shown URL. */
const mask = '/***';

/** Masks an RPC URL after its host, where providers put API keys. */
export function maskedUrl(url: string): string {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}${mask}`;
}

/**
 * Returns what is wrong with a list of nodes: each must be http or https, at most 20, at least one with a weight above 0. The sentences
 * never contain the URL, which may hold a provider's key. The policy is for URLs that the API sets. A masked URL is refused: a caller that
 * sends back a URL from a response would lose its key.
 */
export function nodeUrlProblems(
  field: string,
  urls: readonly RpcUrl[],
  policy?: Pick<NodeUrlPolicy, 'problemOf'>,
): readonly FieldProblem[] {
  if (urls.length > maxUrls) return [{ field, description: `must have at most ${maxUrls} items` }];
  const problems = urls.flatMap(({ url }, index) => {
    const description = httpUrlProblem(url) ?? policy?.problemOf(url);
    return description === undefined ? [] : [{ field: `${field}[${index}].url`, description }];
  });
  const noneIsUsed = urls.length > 0 && urls.every(({ weight }) => weight === 0);
  return noneIsUsed ? [...problems, { field, description: 'must have at least one item with a weight above 0' }] : problems;
}

/** Checks a list of nodes. Throws `FIELD_INVALID`. */
export function checkNodeUrls(field: string, urls: readonly RpcUrl[], policy?: Pick<NodeUrlPolicy, 'problemOf'>): void {
  throwProblems(nodeUrlProblems(field, urls, policy));
}

/** Returns what is wrong with the address of a node or an explorer; undefined: nothing. */
export function httpUrlProblem(text: string): string | undefined {
  const problem = textProblem(syntaxes.http_url, text);
  if (problem !== undefined) return problem;
  return text.endsWith(mask) ? 'is masked; send the complete URL' : undefined;
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
