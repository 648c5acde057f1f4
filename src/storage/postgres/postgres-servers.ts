import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

/*
 * DATABASE_URL as libpq reads it. The driver knows neither several hosts nor `passfile`, takes `sslmode=require` for `verify-full`, and
 * ignores parameters that it does not know.
 */

/** The names under which a server keeps the password of a user. */
export interface Login {
  /** Absent, here and below: the driver looks into the environment, such as `PGHOST`. */
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  readonly database?: string;
}

/** How to connect to one server of a URL. */
export interface ServerOptions extends Login {
  /** A function is asked for each connection; the driver calls it with the login that it uses. */
  readonly password?: string | ((login?: Login) => string);
  readonly options?: string;
  readonly ssl?: false | ConnectionOptions;
  readonly sslnegotiation?: 'direct';
}

const sslModes = ['disable', 'no-verify', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof sslModes)[number];
/** Weaker modes of libpq, as the mode that protects more. */
const raised = new Map([
  ['allow', 'require'],
  ['prefer', 'require'],
]);
/** Values of the driver's parameter `ssl`. */
const driverModes = new Map([
  ['true', 'verify-full'],
  ['1', 'verify-full'],
  ['false', 'disable'],
  ['0', 'disable'],
]);
const files = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey', crl: 'sslcrl' };

/** The service sets these itself, or has no use for them; ignoring them protects no less. */
const ignored = [
  ...['application_name', 'fallback_application_name', 'client_encoding', 'connect_timeout', 'load_balance_hosts'],
  ...['keepalives', 'keepalives_idle', 'keepalives_interval', 'keepalives_count', 'tcp_user_timeout'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'query_timeout'],
  ...['sslcompression', 'sslsni', 'ssl_max_protocol_version', 'uselibpqcompat'],
];
/** Parameters of which some values would protect less here than they ask for, or are wrong: the values that are taken, and a remedy. */
const limited: { readonly [name: string]: readonly [readonly string[], string] } = {
  target_session_attrs: [['any', 'primary', 'read-write'], 'the service needs a server that takes writes: use read-write'],
  gssencmode: [['disable', 'prefer'], 'the service encrypts by TLS alone: use sslmode=verify-full'],
  channel_binding: [['disable', 'prefer', 'require'], 'use require, which means sslmode=verify-full'],
  sslnegotiation: [['postgres', 'direct'], 'use postgres or direct'],
  ssl_min_protocol_version: [['TLSv1', 'TLSv1.1', 'TLSv1.2'], 'leave it out, and set NODE_OPTIONS=--tls-min-v1.3'],
};
const known = [
  ...['host', 'hostaddr', 'port', 'user', 'password', 'dbname', 'options', 'passfile', 'sslmode', 'ssl', 'sslpassword'],
  ...Object.values(files),
  ...Object.keys(limited),
  ...ignored,
];
const form =
  'write postgres://<user>:<password>@<host>/<database>, and in the password %2F for a slash, %3F for ?, %23 for # and %25 for a percent sign';

/**
 * Returns the servers of a URL, in its order. Reads the files of its certificates and passwords again each time. Throws an error whose
 * message is for the operator; it omits the URL, which may contain a password.
 */
export function serversOf(databaseUrl: string): readonly ServerOptions[] {
  // A password may have an @ that is not encoded, so the last one before the path ends it.
  const parts = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(databaseUrl);
  const [, login, authority = '', path = '', query = ''] = parts ?? [];
  // An @ in the path says that a password has a slash: its beginning would count as a host, and its end as a database.
  if (parts === null || path.includes('@')) throw new Error(`the database URL is not a valid PostgreSQL URL; ${form}`);
  // As in libpq, the last value of a parameter counts.
  const parameters = new Map(new URLSearchParams(query));
  requireKnown(parameters, query);
  const [user = '', ...password] = (login ?? '').split(':');
  const text = (parameter: string, fromUrl: string) => parameters.get(parameter) ?? decoded(fromUrl);
  const ports = parameters.get('port')?.split(',') ?? authority.split(',').map(portOf);
  const texts = { user: text('user', user), database: text('dbname', path), options: parameters.get('options') ?? '' };
  const ssl = sslOf(parameters);
  return hostsOf(parameters, authority).map((host, index) => {
    const port = (ports.length === 1 ? ports[0] : ports[index]) ?? '';
    if (port !== '' && !(/^\d+$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535))
      throw new Error(`the database URL has an invalid port; ${form}`);
    const given = Object.fromEntries(Object.entries({ host, ...texts }).filter(([, value]) => value !== ''));
    const server: ServerOptions = {
      ...given,
      ...(port !== '' && { port: Number(port) }),
      ...(ssl !== undefined && { ssl }),
      ...(parameters.get('sslnegotiation') === 'direct' && { sslnegotiation: 'direct' }),
    };
    const plain = text('password', password.join(':'));
    const file = parameters.get('passfile');
    if (plain !== '') return { ...server, password: plain };
    return file === undefined ? server : { ...server, password: (used = server) => passwordFrom(file, used) };
  });
}

/** Which server of a URL takes writes, by URL: all connections of the process lead to the same one. */
const chosen = new Map<string, number>();

/** Returns the server to which connections to a URL lead now. */
export function chosenServer(servers: readonly ServerOptions[], databaseUrl: string): ServerOptions {
  const server = servers[chosen.get(databaseUrl) ?? 0] ?? servers[0];
  if (server === undefined) throw new Error(`the database URL has no host; ${form}`);
  return server;
}

/** From now on connections to a URL lead to the server at this index. */
export function choose(databaseUrl: string, index: number): void {
  chosen.set(databaseUrl, index);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`the database URL has a "%" that is not followed by two hexadecimal digits; ${form}`);
  }
}

function hostsOf(parameters: ReadonlyMap<string, string>, authority: string): readonly string[] {
  const hosts = parameters.get('host')?.split(',') ?? authority.split(',').map((one) => decoded(hostOf(one)));
  return hosts.every((host) => host === '') ? (parameters.get('hostaddr')?.split(',') ?? hosts) : hosts;
}

function hostOf(server: string): string {
  return /^\[(.*)\]/.exec(server)?.[1] ?? server.replace(/:[^:]*$/, '');
}

function portOf(server: string): string {
  return /^(?:\[.*\]|[^:]*):(.*)$/.exec(server)?.[1] ?? '';
}

function requireKnown(parameters: ReadonlyMap<string, string>, query: string): void {
  const unknown = [...parameters.keys()].filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    // A password with a ? that is not encoded ends up here.
    const isShown = !query.includes('@') && unknown.every((name) => /^[a-z_]+$/.test(name));
    const what = isShown ? `unknown parameters: ${unknown.join(', ')}` : `unknown parameters, or a ? in its password; ${form}`;
    throw new Error(`the database URL has ${what}; known are ${known.join(', ')}`);
  }
  for (const [name, [values, remedy]] of Object.entries(limited)) {
    const value = parameters.get(name);
    if (value !== undefined && !values.includes(value)) throw new Error(`${name} of the database URL is ${shown(value)}; ${remedy}`);
  }
}

function shown(value: string): string {
  return /^[\w.-]+$/.test(value) ? value : 'invalid';
}

/** Returns undefined if the URL says nothing, so that `PGSSLMODE` counts. */
function sslModeOf(parameters: ReadonlyMap<string, string>): SslMode | undefined {
  const isSystem = parameters.get('sslrootcert') === 'system';
  const isBound = parameters.get('channel_binding') === 'require';
  const isDirect = parameters.get('sslnegotiation') === 'direct';
  const ssl = parameters.get('ssl') || undefined;
  const asked = parameters.get('sslmode') || (ssl && (driverModes.get(ssl) ?? ssl));
  if (asked === undefined)
    return isSystem || isBound || isDirect || Object.values(files).some((name) => parameters.get(name)) ? 'verify-full' : undefined;
  const mode = sslModes.find((one) => one === (raised.get(asked) ?? asked));
  if (mode === undefined) throw new Error(`sslmode of the database URL is ${shown(asked)}; use one of ${sslModes.join(', ')}`);
  if (isSystem && mode !== 'verify-full')
    throw new Error(`sslmode of the database URL is ${asked}; with sslrootcert=system, use verify-full`);
  if (mode === 'disable' && (isBound || isDirect))
    throw new Error('sslmode of the database URL is disable; with channel_binding=require or sslnegotiation=direct, use verify-full');
  // The driver cannot insist on channel binding, which keeps others from posing as the server; the certificate does that too.
  return isBound ? 'verify-full' : mode;
}

function sslOf(parameters: ReadonlyMap<string, string>): ServerOptions['ssl'] | undefined {
  const mode = sslModeOf(parameters);
  if (mode === undefined) return undefined;
  if (mode === 'disable') return false;
  const given = Object.entries(files).flatMap(([option, name]) => {
    const file = parameters.get(name);
    return !file || (option === 'ca' && file === 'system') ? [] : [[option, fileOf(name, file)] as const];
  });
  const passphrase = parameters.get('sslpassword');
  const options: ConnectionOptions = { ...Object.fromEntries(given), ...(passphrase && { passphrase }) };
  const hasRoot = options.ca !== undefined;
  if (mode === 'no-verify' || (mode === 'require' && !hasRoot)) return { ...options, rejectUnauthorized: false };
  // As in libpq, require means verify-ca with a root certificate. The authorities that Node.js knows certify every applicant, so verify-ca
  // without a root certificate checks the name too.
  return hasRoot && mode !== 'verify-full' ? { ...options, checkServerIdentity: () => undefined } : options;
}

function fileOf(parameter: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read the file of ${parameter} in the database URL: ${(cause as Error).message}`, { cause });
  }
}

/** Returns the password of a server from a file in the format of `.pgpass`. */
function passwordFrom(file: string, { host = 'localhost', port = 5432, user = '', database = user }: Login): string {
  const values = [host, String(port), database, user];
  for (const line of fileOf('passfile', file).split('\n')) {
    if (line.startsWith('#')) continue;
    const fields = [...line.trimEnd().matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) => field.replace(/\\(.)/g, '$1'));
    const [password] = fields.slice(4);
    if (password !== undefined && values.every((value, index) => fields[index] === '*' || fields[index] === value)) return password;
  }
  throw new Error(`the file of passfile in the database URL has no line for ${host}:${port}`);
}
