import { type FieldProblem, throwProblems } from '../errors/errors.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Definition } from '../records/definition.js';
import type { NetworkType, RpcHeader, RpcUrl } from '../records/network.js';
import { isSocketUrl } from '../text/http-url.js';
import { isMasked, maskedUrl, whyMaskedRefused } from '../text/masked-url.js';
import { syntaxes, textProblem } from '../text/text-syntax.js';
import type { NodeUrlPolicy } from './node-url-policy.js';

const maxUrls = 20;
const maxHeaders = 16;
/** Replaces the value of a shown header. */
export const maskedValue = '***';
/**
 * Headers that a request has already, that belong to one connection, or by which a metadata service of a cloud knows a friendly caller: a
 * URL of the API must not reach that.
 */
const refusedHeader =
  /^(?:host|content-.*|accept|accept-encoding|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer|proxy-.*|traceparent|tracestate|sec-.*|metadata.*|x-aws-ec2-metadata.*)$/i;

/**
 * Returns RPC URLs of an update with what answers mask: a caller sends back what it read. A masked URL is the stored one that is shown so,
 * with its headers if it has none; a masked header has the value of the stored URL. What does not name exactly one stored URL stays masked,
 * which `nodeUrlProblems` refuses.
 */
export function unmaskedUrls(urls: readonly RpcUrl[], stored: readonly RpcUrl[]): readonly RpcUrl[] {
  return urls.map((sent) => {
    const alike = stored.filter(({ url }) => (isMasked(sent.url) ? maskedUrl(url) : url) === sent.url);
    const [kept] = alike;
    if (kept === undefined || alike.length > 1) return sent;
    const headers = isMasked(sent.url) && sent.headers === undefined ? kept.headers : sent.headers?.map((header) => unmasked(header, kept));
    return { url: kept.url, weight: sent.weight, ...(headers === undefined ? {} : { headers }) };
  });
}

function unmasked(header: RpcHeader, { headers = [] }: RpcUrl): RpcHeader {
  if (header.value !== maskedValue) return header;
  return headers.find(({ name }) => name.toLowerCase() === header.name.toLowerCase()) ?? header;
}

/** Returns an RPC URL as audit lines may show it: masked, with the names of its headers. */
export function shownRpcUrl({ url, headers = [] }: RpcUrl): string {
  return [maskedUrl(url), ...headers.map(({ name }) => `(header ${name})`)].join(' ');
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
 * sentences never contain the URL or a header's value, which may hold a provider's key. What is masked is refused: see `unmaskedUrls`.
 */
export function nodeUrlProblems(field: string, urls: readonly RpcUrl[], { type, policy }: NodeUrlRules = {}): readonly FieldProblem[] {
  if (urls.length > maxUrls) return [{ field, description: `must have at most ${maxUrls} items` }];
  const problems = urls.flatMap((one, index) => {
    const description = nodeUrlProblem(one.url, type) ?? policy?.problemOf(one.url);
    const ofHeaders = headerProblems(`${field}[${index}].headers`, one);
    return description === undefined ? ofHeaders : [{ field: `${field}[${index}].url`, description }, ...ofHeaders];
  });
  const noneIsUsed = urls.length > 0 && urls.every(({ weight }) => weight === 0);
  return noneIsUsed ? [...problems, { field, description: 'must have at least one item with a weight above 0' }] : problems;
}

function headerProblems(field: string, { url, headers = [] }: RpcUrl): readonly FieldProblem[] {
  if (headers.length > maxHeaders) return [{ field, description: `must have at most ${maxHeaders} items` }];
  const names = headers.map(({ name }) => name.toLowerCase());
  const hasUser = URL.canParse(url) && new URL(url).username !== '';
  return headers.flatMap(({ name, value }, index) => {
    const at = `${field}[${index}]`;
    const [nameProblem, valueProblem] = [textProblem(syntaxes.header_name, name), textProblem(syntaxes.header_value, value)];
    const lower = name.toLowerCase();
    if (nameProblem !== undefined) return [{ field: `${at}.name`, description: nameProblem }];
    if (refusedHeader.test(name)) return [{ field: `${at}.name`, description: 'is a header that only the service or a proxy sets' }];
    if (names.indexOf(lower) < index) return [{ field: `${at}.name`, description: `is the name of another item` }];
    if (lower === 'authorization' && hasUser)
      return [{ field: `${at}.name`, description: 'must not be Authorization, because the URL has a user name' }];
    if (valueProblem !== undefined) return [{ field: `${at}.value`, description: valueProblem }];
    return value === maskedValue ? [{ field: `${at}.value`, description: 'is masked; send the complete value' }] : [];
  });
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
  return isMasked(text) ? whyMaskedRefused : undefined;
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
