import { percentDecoded } from '../../core/percent-decoded.js';
import { secretPartsOf } from '../../core/secret-parts.js';

/** Where an RPC URL leads, taken apart so that errors and logs can name its host and nothing else. */
export interface RpcTarget {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parts of the URL that a node may echo. */
  readonly secrets: readonly string[];
}

/** Reads an RPC URL. Throws without its text when it cannot be read. */
export function rpcTargetFrom(text: string, networkName: string): RpcTarget {
  // `new URL` throws an error that holds the text.
  if (!URL.canParse(text)) throw new Error(`network ${networkName} has an RPC URL that cannot be read`);
  const url = new URL(text);
  const user = percentDecoded(url.username);
  const password = percentDecoded(url.password);
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  const credentials = user === '' && password === '' ? null : Buffer.from(`${user}:${password}`).toString('base64');
  if (credentials !== null) headers.authorization = `Basic ${credentials}`;
  const secrets = [...(credentials === null ? [] : [credentials]), ...secretPartsOf(url)];
  return { origin: url.origin, host: url.host, path: `${url.pathname}${url.search}`, headers, secrets };
}
