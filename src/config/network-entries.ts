import { z } from 'zod';
import type { Network, NetworkType } from '../core/relayer/network.js';
import { bundledNetworks } from './bundled-networks.js';
import type { Environment } from './environment.js';
import { declaredNames, type FileEntry, textField } from './file-entries.js';
import { inheritNetwork, type WrittenNetwork } from './inherit-network.js';
import { networkFromFields } from './network-from-fields.js';
import { networkSchemas } from './network-schemas.js';
import type { Problem } from './problem.js';
import { readBySchema } from './schema-problems.js';

/** The kinds of networks, as the file writes them. */
export const networkTypes = ['evm', 'stellar', 'solana'] as const satisfies readonly NetworkType[];

const typeSchema = z.looseObject({ type: z.enum(networkTypes) });

/** The networks of the configuration, and what a relayer's reference to one is judged by. A name is used once in each kind. */
export interface NetworkEntries {
  /** The file's own in its order, then those that come with the service and that the file does not define itself. */
  readonly networks: readonly Network[];
  /** Names of the networks of a kind, and of those whose kind cannot be told; valid or not. */
  declared(type: NetworkType): ReadonlySet<string>;
  /** Sentences about what networks say and nothing uses. */
  readonly notices: readonly string[];
}

/** Reads the networks: each as written, then with what it inherits, from those that come with the service too. Problems go on the list. */
export function networkEntries(entries: readonly FileEntry[], env: Environment, problems: Problem[]): NetworkEntries {
  const schemas = networkSchemas(env);
  const declared = { evm: new Set<string>(), stellar: new Set<string>(), solana: new Set<string>() };
  const written = new Map<string, WrittenNetwork>();
  const keyOf = (type: NetworkType, name: string): string => `${type} ${name}`;

  for (const type of networkTypes)
    declaredNames(
      entries.filter((entry) => textField(entry, 'type') === type),
      'network',
      problems,
    );
  const bundled = bundledNetworks.map((value): FileEntry => ({ value, path: `the network ${value.network} that comes with the service` }));
  for (const entry of [...entries, ...bundled]) {
    const name = textField(entry, 'network');
    const kind = readBySchema(typeSchema, entry.value, entry.path, problems)?.type;
    if (name !== undefined) for (const type of kind === undefined ? networkTypes : [kind]) declared[type].add(name);
    if (kind === undefined || (name !== undefined && written.has(keyOf(kind, name)))) continue;
    const fields = readBySchema(schemas[kind], entry.value, entry.path, problems);
    if (name !== undefined) written.set(keyOf(kind, name), { path: entry.path, fields });
  }

  const networks: Network[] = [];
  const notices: string[] = [];
  for (const { path, fields } of written.values()) {
    if (fields === undefined) continue;
    const whole = inheritNetwork(fields, path, (name) => written.get(keyOf(fields.type, name)), problems);
    const network = whole === undefined ? undefined : networkFromFields(whole, path, problems);
    if (network !== undefined) networks.push(network);
    if (fields.type === 'stellar' && fields.horizon_url) notices.push(`${path}.horizon_url is not used: nothing here asks Horizon`);
  }
  return { networks, declared: (type) => declared[type], notices };
}
