import { isReservedHost } from '../text/reserved-host.js';

/** The limits of the RPC URLs that the API sets. The operator's own URLs, in the configuration, are not limited. */
export interface NodeUrlLimits {
  /** Host names in lower case; empty: all. */
  readonly allowedHosts: ReadonlySet<string>;
  /** True: no private, loopback, link-local or otherwise reserved hosts. */
  readonly blockPrivate: boolean;
}

/** The rules for the RPC URLs that the API sets. */
export interface NodeUrlPolicy extends NodeUrlLimits {
  /** Returns what is wrong with a URL; undefined: nothing. Resolves no name: the address is checked again on connecting. */
  problemOf(url: string): string | undefined;
  /** True if the configuration has this URL. */
  isConfigured(url: string): boolean;
  /**
   * True if a URL of the configuration has this host, with its port. Metrics do not name other hosts, because callers could create any
   * number of them.
   */
  isConfiguredHost(host: string): boolean;
}

/** Creates the rules. `configured` are the URLs of the configuration. */
export function createNodeUrlPolicy(limits: NodeUrlLimits, configured: readonly string[]): NodeUrlPolicy {
  const { allowedHosts, blockPrivate } = limits;
  const urls = new Set(configured);
  const hosts = new Set(configured.filter((url) => URL.canParse(url)).map((url) => new URL(url).host));
  return {
    ...limits,
    problemOf(url) {
      if (urls.has(url)) return undefined;
      const { hostname } = new URL(url);
      if (allowedHosts.size > 0 && !allowedHosts.has(hostname)) return 'must have a host that RPC_ALLOWED_HOSTS lists';
      return blockPrivate && isReservedHost(hostname)
        ? 'must not point to a private, loopback, link-local, metadata or otherwise reserved host, because RPC_BLOCK_PRIVATE_IPS is true'
        : undefined;
    },
    isConfigured: (url) => urls.has(url),
    isConfiguredHost: (host) => hosts.has(host),
  };
}
