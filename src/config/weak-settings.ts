import { isIP } from 'node:net';
import { isReservedHost } from '../core/text/reserved-host.js';
import { bundledNetworks } from './bundled-networks.js';
import type { LoadedConfig } from './config-file.js';
import type { SettingValues } from './settings.js';

/** A random key of 32 characters or bytes almost never has as few different ones. */
const fewestDifferent = 10;

/** Returns sentences about settings that work, but protect keys and money less than they could. None contains a secret. */
export function weakSettings(values: SettingValues): readonly string[] {
  const { apiKey, apiKeyNext, storageEncryptionKey, host, tlsCertFile, webhookAllowPrivate } = values;
  const weak: string[] = [];
  for (const [name, key] of [
    ['API_KEY', apiKey],
    ['API_KEY_NEXT', apiKeyNext],
  ] as const)
    if (key !== null && new Set(key).size < fewestDifferent)
      weak.push(`${name} has few different characters, so it can be guessed; to create one: openssl rand -hex 32`);
  if (new Set(Buffer.from(storageEncryptionKey, 'base64')).size < fewestDifferent)
    weak.push(
      'STORAGE_ENCRYPTION_KEY has few different bytes, so it can be guessed; to create one: openssl rand -base64 32, and to replace it: relayer rotate-encryption-key',
    );
  if (!isLoopback(host) && tlsCertFile === null)
    weak.push(
      `HOST is ${host} without TLS, so others on the network can read API keys; set TLS_CERT_FILE and TLS_KEY_FILE, unless a proxy with TLS is the only way to the port`,
    );
  if (webhookAllowPrivate)
    weak.push('WEBHOOK_ALLOW_PRIVATE is true, so callers with the scope notifications can make the service post to private addresses');
  return weak;
}

const publicHosts: ReadonlySet<string> = new Set(bundledNetworks.flatMap(({ rpc_urls }) => rpc_urls.map((url) => new URL(url).host)));

/**
 * Returns sentences about networks of the file's relayers that work, but whose endpoints are believed or reached with less protection than
 * they could be. None contains a URL, since its path may hold a key.
 */
export function weakNetworks({ relayers }: Pick<LoadedConfig, 'relayers'>): readonly string[] {
  const weak = new Set<string>();
  for (const { id, network, customRpcUrls } of relayers) {
    const name = customRpcUrls.length > 0 ? `relayer ${id}` : `network ${network.name}`;
    const urls = (customRpcUrls.length > 0 ? customRpcUrls : network.rpcUrls).map(({ url }) => new URL(url));
    if (new Set(urls.map(({ host }) => host)).size < 2)
      weak.add(`${name} has RPC URLs of one host, whose word nothing contradicts; set URLs of two providers`);
    for (const { protocol, host, hostname } of urls) {
      if (publicHosts.has(host)) weak.add(`${name} uses the public RPC host ${host}, which has no guarantee; set URLs of your own`);
      if (/^(http|ws):$/.test(protocol) && !isReservedHost(hostname))
        weak.add(`${name} reaches ${host} without TLS, so others on the way can change answers about money; use https or wss`);
    }
  }
  return [...weak];
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
