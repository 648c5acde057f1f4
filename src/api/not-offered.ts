/**
 * The paths of OpenZeppelin Relayer that this service does not support, and what to do instead. They answer 501, so that a client of that
 * service can distinguish them from a misspelled path.
 */
const notOffered: readonly (readonly [path: RegExp, sentence: string])[] = [
  [/^\/api\/v1\/plugins(\/|$)/, 'plugins are not supported; run their code as a client of this service'],
  [
    /^\/api\/v1\/relayers\/[^/]+\/transactions\/sponsored\/[^/]+\/?$/,
    'sponsored transactions are not supported; send a transaction whose fee the relayer pays',
  ],
  [/^\/api\/v1\/api-keys\/[^/]+\/permissions\/?$/, 'permissions of API keys are not supported; GET /api/v1/api-keys shows their scopes'],
  [/^(\/api\/v1)?\/(metrics\/[^/]+|debug\/metrics\/scrape)\/?$|^\/api\/v1\/metrics\/?$/, 'metrics are available only at /metrics'],
];

/** Returns what to do instead if this is a path of OpenZeppelin Relayer that this service does not support. */
export function notOfferedAt(path: string): string | undefined {
  return notOffered.find(([pattern]) => pattern.test(path))?.[1];
}
