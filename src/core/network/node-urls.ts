import { type FieldProblem, throwProblems } from '../errors/errors.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Definition } from '../records/definition.js';
import type { NetworkType, RpcUrl } from '../records/network.js';
import { isSocketUrl } from '../text/http-url.js';
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

/** What the URLs of nodes are checked against. */
export interface NodeUrlRules {
  /** The network's type, if it is known: only nodes of EVM networks answer calls through a WebSocket. */
  readonly type?: NetworkType | undefined;
  /** For URLs that the API sets. */
  readonly policy?: Pick<NodeUrlPolicy, 'problemOf'> | undefined;
}

/**
 * Returns what is wrong with a list of nodes: each must be an address of a node, at most 20, at least one with a weight above 0. The
 * sentences never contain the URL, which may hold a provider's key. A masked URL is refused: a caller that sends back a URL from a response
 * would lose its key.
 */
export function nodeUrlProblems(field: string, urls: readonly RpcUrl[], { type, policy }: NodeUrlRules = {}): readonly FieldProblem[] {
  if (urls.length > maxUrls) return [{ field, description: `must have at most ${maxUrls} items` }];
  const problems = urls.flatMap(({ url }, index) => {
    const description = nodeUrlProblem(url, type) ?? policy?.problemOf(url);
    return description === undefined ? [] : [{ field: `${field}[${index}].url`, description }];
  });
  const noneIsUsed = urls.length > 0 && urls.every(({ weight }) => weight === 0);
  return noneIsUsed ? [...problems, { field, description: 'must have at least one item with a weight above 0' }] : problems;
}

/** Checks a list of nodes. Throws `FIELD_INVALID`. */
export function checkNodeUrls(field: string, urls: readonly RpcUrl[], rules?: NodeUrlRules): void {
  throwProblems(nodeUrlProblems(field, urls, rules));
}

function nodeUrlProblem(text: string, type: NetworkType | undefined): string | undefined {
  const problem = textProblem(syntaxes.node_url, text);
  if (problem !== undefined) return problem;
  if (type !== undefined && type !== 'evm' && isSocketUrl(text))
    return 'must begin with http:// or https://; only EVM nodes answer ws and wss';
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
