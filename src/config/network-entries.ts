import { durationMs } from '@bufbuild/protobuf/wkt';
import { type Network as NetworkMessage, NetworkSchema } from '../../gen/relayer/v1/network_service_pb.js';
import { rpcUrlFromProto } from '../codec/relayer-values.js';
import { checkNodeUrls } from '../core/network/node-urls.js';
import { type Network, type NetworkType, networkTypes, usualBlockTimeMs } from '../core/records/network.js';
import { syntaxes, textProblem } from '../core/text/text-syntax.js';
import { jsonFromText } from '../json/json-reader.js';
import type { JsonObject, JsonValue } from '../json/json-value.js';
import { likelyName } from '../json/likely-name.js';
import { bundledNetworks } from './bundled-networks.js';
import type { Environment } from './environment.js';
import { checkReference, codecOf, declaredNames, type FileEntry, objectOf, readMessage, requireMembers, textIn } from './file-entries.js';
import { Problems } from './problem.js';
import { resolveUrls } from './secret-reference.js';

/** The networks of the configuration. A name is unique within its type. */
export interface NetworkEntries {
  /** The file's networks in its order, then bundled networks that the file does not define itself. */
  readonly networks: readonly Network[];
  /** Returns the names of the networks of a type, and of networks without a known type, valid or not. */
  declared(type: NetworkType): ReadonlySet<string>;
}

/** A network as the file defines it. Absent fields may come from the network in `from`. */
interface WrittenNetwork {
  readonly type: NetworkType;
  readonly path: string;
  readonly name: string;
  /** The fields that the API's record of a network has too, with references resolved. */
  readonly fields: JsonObject;
  /** The network that it inherits from; empty: none. */
  readonly from: string;
  readonly isSound: boolean;
}

/** Fields of a record that the file has under another name, or not at all. */
const notInFile = ['id', 'name', 'network_type'];
/** The fields of a record that only some types have. */
const fieldsOfSome: Readonly<Partial<Record<NetworkType, readonly string[]>>> = {
  evm: ['chain_id', 'required_confirmations', 'symbol', 'features'],
  stellar: ['passphrase', 'horizon_url'],
};

const codecs = byType((type) => {
  const ofOthers = networkTypes.filter((other) => other !== type).flatMap((other) => fieldsOfSome[other] ?? []);
  return codecOf(NetworkSchema, [...notInFile, ...ofOthers]);
});

/** The fields that only the file has, not the API's record of a network. */
const ownFields = byType((type) => ['type', 'network', 'from', ...(type === 'evm' ? ['gas_price_cache'] : [])]);

const requiredOfSome: Readonly<Partial<Record<NetworkType, readonly string[]>>> = {
  evm: ['chain_id', 'rpc_urls', 'required_confirmations', 'average_blocktime_ms', 'symbol'],
  stellar: ['rpc_urls', 'passphrase'],
};

function byType<Value>(make: (type: NetworkType) => Value): Readonly<Record<NetworkType, Value>> {
  return Object.fromEntries(networkTypes.map((type) => [type, make(type)])) as Record<NetworkType, Value>;
}

/** Reads the networks as the file defines them, then adds the fields that they inherit, also from bundled networks. */
export function networkEntries(entries: readonly FileEntry[], env: Environment, problems: Problems): NetworkEntries {
  const declared = byType(() => new Set<string>());
  const written = new Map<string, WrittenNetwork>();
  for (const type of networkTypes)
    declaredNames(
      entries.filter(({ value }) => textIn(value, 'type') === type),
      'network',
      problems,
    );
  for (const entry of [...entries, ...bundledEntries()]) {
    const object = objectOf(entry, problems);
    if (object === undefined) continue;
    const name = textIn(object, 'network') ?? '';
    const type = networkTypes.find((known) => known === object.get('type'));
    for (const each of type === undefined ? networkTypes : [type]) declared[each].add(name);
    if (type === undefined) {
      const isAbsent = (object.get('type') ?? null) === null;
      problems.add(`${entry.path}.type`, isAbsent ? 'is required' : `must be one of ${networkTypes.join(', ')}`);
    } else if (!written.has(`${type} ${name}`)) {
      written.set(`${type} ${name}`, networkAsWritten(type, object, entry.path, env, problems));
      problems.notices.push(...noticesOf(type, object, entry.path));
    }
  }
  const networks = [...written.values()].flatMap((network) => {
    if (!network.isSound) return [];
    const whole = withInherited(network, written, problems);
    requireIn(whole, network, problems);
    return whole === undefined || problems.has(network.path) ? [] : [networkFrom(network, whole)];
  });
  return { networks, declared: (type) => declared[type] };
}

/** Returns the bundled networks. */
export function bundledNetworkList(): readonly Network[] {
  return networkEntries([], {}, new Problems()).networks;
}

function bundledEntries(): readonly FileEntry[] {
  return bundledNetworks.map((network) => ({
    value: jsonFromText(JSON.stringify(network)),
    path: `the bundled network ${network.network}`,
  }));
}

/** Reads the present fields and reports their problems. Absent fields may be inherited. */
function networkAsWritten(type: NetworkType, object: JsonObject, path: string, env: Environment, problems: Problems): WrittenNetwork {
  const codec = codecs[type];
  const fields: JsonObject = new Map([...object].filter(([name, value]) => !ownFields[type].includes(name) && value !== null));
  for (const name of ['rpc_urls', 'explorer_urls'])
    if (fields.has(name)) fields.set(name, resolveUrls(fields.get(name) ?? null, `${path}.${name}`, env, problems));
  for (const name of fields.keys()) {
    const likely = codec.keys.has(name) ? undefined : likelyName(name, ownFields[type]);
    if (likely === undefined) continue;
    problems.add(`${path}.${name}`, `is not a known field; did you mean \`${likely}\`?`);
    fields.delete(name);
  }
  const message = readMessage(codec, fields, path, problems);
  requireMembers(object, ['network'], path, problems);
  for (const name of ['network', 'from']) {
    const value = object.get(name) ?? null;
    if (value !== null && typeof value !== 'string') problems.add(`${path}.${name}`, 'must be a string');
  }
  for (const name of ['symbol', 'passphrase']) if (fields.get(name) === '') problems.add(`${path}.${name}`, 'must not be empty');
  if (Array.isArray(fields.get('rpc_urls')) && message.rpcUrls.length === 0 && !problems.has(`${path}.rpc_urls`))
    problems.add(`${path}.rpc_urls`, 'must have at least one item');
  problems.check(path, () => checkNodeUrls('rpc_urls', message.rpcUrls.map(rpcUrlFromProto), { type }));
  for (const [index, url] of message.explorerUrls.entries()) {
    const problem = textProblem(syntaxes.http_url, url);
    if (problem !== undefined) problems.add(`${path}.explorer_urls[${index}]`, problem);
  }
  const name = textIn(object, 'network') ?? '';
  return { type, path, name, fields, from: textIn(object, 'from') ?? '', isSound: !problems.has(path) };
}

function noticesOf(type: NetworkType, object: JsonObject, path: string): readonly string[] {
  const cache = object.get('gas_price_cache') ?? null;
  const isCached = type === 'evm' && cache instanceof Map && cache.get('enabled') === true;
  return [
    ...(isCached ? [`${path}.gas_price_cache has no effect: this service has no such setting`] : []),
    ...(type === 'stellar' && object.get('horizon_url') ? [`${path}.horizon_url has no effect: Horizon is never called`] : []),
  ];
}

/**
 * Returns the fields of a network, inherited ones included; undefined if an inherited network is unknown. Reports a problem at the network
 * that has it. Tags and features are merged; every other field replaces the parent's.
 */
function withInherited(network: WrittenNetwork, written: ReadonlyMap<string, WrittenNetwork>, problems: Problems): JsonObject | undefined {
  const { type, path } = network;
  const line: WrittenNetwork[] = [network];
  for (let child = network; child.from !== ''; ) {
    const parent = written.get(`${type} ${child.from}`);
    if (child.from === network.name) problems.add(`${path}.from`, 'inherits from itself; name another network');
    else if (parent === undefined && child === network) checkParent(network, written, problems);
    if (parent === undefined || !parent.isSound || line.includes(parent)) return undefined;
    child = parent;
    line.push(child);
  }
  return line.map(({ fields }) => fields).reduceRight(merged);
}

function checkParent({ type, path, from }: WrittenNetwork, written: ReadonlyMap<string, WrittenNetwork>, problems: Problems): void {
  const names = [...written.values()].filter((other) => other.type === type).map(({ name }) => name);
  checkReference(from, new Set(names), `no ${type} network has the name`, `${path}.from`, problems);
}

function merged(parent: JsonObject, child: JsonObject): JsonObject {
  const both: JsonObject = new Map([...parent, ...child]);
  for (const name of ['tags', 'features']) {
    const list = [...new Set([...listIn(parent, name), ...listIn(child, name)])];
    if (list.length > 0) both.set(name, list);
  }
  return both;
}

function listIn(fields: JsonObject, name: string): readonly JsonValue[] {
  const list = fields.get(name);
  return Array.isArray(list) ? list : [];
}

function requireIn(whole: JsonObject | undefined, { type, path }: WrittenNetwork, problems: Problems): void {
  if (whole !== undefined) requireMembers(whole, requiredOfSome[type] ?? ['rpc_urls'], path, problems);
}

function networkFrom({ type, name, path }: WrittenNetwork, fields: JsonObject): Network {
  // Every part was read before, without a problem.
  const message: NetworkMessage = readMessage(codecs[type], fields, path, new Problems());
  const { chainId = 0n, requiredConfirmations = 1n, averageBlockTime, passphrase = '', symbol = '' } = message;
  const shared = {
    name,
    rpcUrls: message.rpcUrls.map(rpcUrlFromProto),
    isTestnet: message.isTestnet,
    tags: message.tags,
    explorerUrls: message.explorerUrls,
    requiredConfirmations: Number(requiredConfirmations),
    averageBlockTimeMs: averageBlockTime === undefined ? Number(usualBlockTimeMs[type]) : durationMs(averageBlockTime),
  };
  if (type === 'evm') return { ...shared, type, chainId, symbol, eip1559: message.features.includes('eip1559') };
  if (type === 'stellar') return { ...shared, type, passphrase, symbol: 'XLM' };
  return { ...shared, type, symbol: 'SOL' };
}
