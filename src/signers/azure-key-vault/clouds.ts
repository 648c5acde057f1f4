/** One of Azure's clouds, for one kind of vault. */
interface AzureCloud {
  /** The URL that issues tokens. */
  readonly authority: string;
  /** The resource that a token is for. */
  readonly resource: string;
}

/** By the domain of the vaults. */
const authorities: Readonly<Record<string, string>> = {
  'vault.azure.net': 'https://login.microsoftonline.com',
  'managedhsm.azure.net': 'https://login.microsoftonline.com',
  'vault.azure.cn': 'https://login.chinacloudapi.cn',
  'managedhsm.azure.cn': 'https://login.chinacloudapi.cn',
  'vault.usgovcloudapi.net': 'https://login.microsoftonline.us',
  'managedhsm.usgovcloudapi.net': 'https://login.microsoftonline.us',
};

/** Returns the cloud of a vault; the public one if the URL is none of Azure's. */
export function cloudOf(vaultUrl: string): AzureCloud {
  const domain = domainOf(vaultUrl) ?? 'vault.azure.net';
  return { authority: authorities[domain] ?? '', resource: `https://${domain}` };
}

/** True if the URL belongs to Azure: only Azure gets the requests to it. */
export function isAzureUrl(vaultUrl: string): boolean {
  const { protocol, port } = new URL(vaultUrl);
  return protocol === 'https:' && port === '' && domainOf(vaultUrl) !== undefined;
}

function domainOf(vaultUrl: string): string | undefined {
  const { hostname } = new URL(vaultUrl);
  return Object.keys(authorities).find((domain) => hostname.endsWith(`.${domain}`));
}
