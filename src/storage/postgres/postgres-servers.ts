import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

/*
 * DATABASE_URL as libpq reads it. The driver knows neither several hosts nor `passfile`, takes `sslmode=require` for `verify-full`, and
 * ignores parameters that it does not know.
 */

/** How to connect to one server of a URL. */
export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly user?: string;
  readonly database?: string;
  /** Absent: the driver looks into `PGPASSWORD` and `PGPASSFILE`. A function is asked for each connection. */
  readonly password?: string | (() => string);
  readonly options?: string;
  readonly ssl?: false | ConnectionOptions;
}

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
const attributes = ['any', 'primary', 'read-write'];
/** The service sets these itself. */
const ignored = ['application_name', 'fallback_application_name', 'connect_timeout', 'keepalives', 'client_encoding'];
const known = [
  ...['host', 'port', 'user', 'password', 'dbname', 'options', 'passfile', 'target_session_attrs'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey'],
  ...ignored,
];
const form = 'write postgres://<user>@<host>/<database>';
const defaultPort = '5432';

/**
 * Returns the servers of a URL, in its order. Reads the files of its certificates and passwords again each time. Throws an error whose
 * message is for the operator; it omits the URL, which may contain a password.
 */
export function serversOf(databaseUrl: string): readonly ServerOptions[] {
  const parts = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(databaseUrl);
  if (parts === null) throw new Error(`the database URL is not a valid PostgreSQL URL; ${form}`);
  const [, login = '', authority = '', path = '', query = ''] = parts;
  const parameters = new URLSearchParams(query);
  requireKnown(parameters);
  const [user = '', ...password] = login.split(':');
  const text = (parameter: string, fromUrl: string) => parameters.get(parameter) ?? decoded(fromUrl);
  const hosts = parameters.get('host')?.split(',') ?? authority.split(',').map((one) => decoded(hostOf(one)));
  const ports = parameters.get('port')?.split(',') ?? authority.split(',').map(portOf);
  const own = { user: text('user', user), database: text('dbname', path), options: parameters.get('options') ?? '' };
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== ''));
  const ssl = sslOf(parameters);
  return hosts.map((host, index) => {
    const port = Number((ports.length === 1 ? ports[0] : ports[index]) || defaultPort);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`the database URL has an invalid port; ${form}`);
    const server = { host: host === '' ? 'localhost' : host, port, ...given, ...(ssl === undefined ? {} : { ssl }) };
    const plain = text('password', password.join(':'));
    const file = parameters.get('passfile');
    if (plain !== '') return { ...server, password: plain };
    return file === null ? server : { ...server, password: () => passwordFrom(file, server) };
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

function hostOf(server: string): string {
  return /^\[(.*)\]/.exec(server)?.[1] ?? server.replace(/:[^:]*$/, '');
}

function portOf(server: string): string {
  return /^(?:\[.*\]|[^:]*):(.*)$/.exec(server)?.[1] ?? '';
}

function requireKnown(parameters: URLSearchParams): void {
  const unknown = [...new Set(parameters.keys())].filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`the database URL has unknown parameters: ${unknown.join(', ')}; known are ${known.join(', ')}`);
  const wanted = parameters.get('target_session_attrs') ?? 'any';
  if (!attributes.includes(wanted))
    throw new Error(`target_session_attrs of the database URL is ${wanted}; the service needs a server that takes writes: use read-write`);
}

/** Returns undefined if the URL says nothing, so that `PGSSLMODE` counts. */
function sslOf(parameters: URLSearchParams): ServerOptions['ssl'] | undefined {
  const mode = parameters.get('sslmode');
  const files = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' };
  const given = Object.entries(files).flatMap(([option, parameter]) => {
    const file = parameters.get(parameter);
    return file === null || (option === 'ca' && file === 'system') ? [] : [[option, fileOf(parameter, file)] as const];
  });
  if (mode === null && given.length === 0) return undefined;
  const wanted = mode ?? 'verify-full';
  const certificates: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'> = Object.fromEntries(given);
  const hasRoot = certificates.ca !== undefined;
  switch (wanted as (typeof sslModes)[number]) {
    case 'disable':
      return false;
    case 'require':
      // As libpq: with a root certificate it means verify-ca.
      return hasRoot ? { ...certificates, checkServerIdentity: () => undefined } : { ...certificates, rejectUnauthorized: false };
    case 'verify-ca':
      if (!hasRoot) throw new Error('sslmode=verify-ca in the database URL needs sslrootcert, or use verify-full');
      return { ...certificates, checkServerIdentity: () => undefined };
    case 'verify-full':
      return certificates;
    default:
      throw new Error(`sslmode of the database URL is ${wanted}; use one of ${sslModes.join(', ')}`);
  }
}

function fileOf(parameter: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read the file of ${parameter} in the database URL: ${(cause as Error).message}`, { cause });
  }
}

/** Returns the password of a server from a file in the format of `.pgpass`. */
function passwordFrom(file: string, { host, port, user = '', database = user }: ServerOptions): string {
  const values = [host, String(port), database, user];
  for (const line of fileOf('passfile', file).split('\n')) {
    if (line.startsWith('#')) continue;
    const fields = [...line.trimEnd().matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) => field.replace(/\\(.)/g, '$1'));
    const [password] = fields.slice(4);
    if (password !== undefined && values.every((value, index) => fields[index] === '*' || fields[index] === value)) return password;
  }
  throw new Error(`the file of passfile in the database URL has no line for ${host}:${port}`);
}
