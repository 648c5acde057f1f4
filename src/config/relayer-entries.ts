import { z } from 'zod';
import type { Curve } from '../core/ports/signer.js';
import { chainKeyOf, curveOf, type Network, type NetworkType } from '../core/relayer/network.js';
import type { Relayer, RelayerPolicies } from '../core/relayer/relayer.js';
import { likelyName } from '../json/likely-name.js';
import type { Environment } from './environment.js';
import { evmPoliciesFromFields, evmPoliciesSchema } from './evm-policies.js';
import { id, rpcUrls, someText } from './field-schemas.js';
import { declaredNames, type FileEntry, textField } from './file-entries.js';
import { type NetworkEntries, networkTypes } from './network-entries.js';
import type { Problem } from './problem.js';
import { readBySchema } from './schema-problems.js';
import { solanaPoliciesFromFields, solanaPoliciesSchema } from './solana-policies.js';
import { stellarPoliciesFromFields, stellarPoliciesSchema } from './stellar-policies.js';

/** A relayer of the file: all of it but what only its signer and its running can tell. */
export type RelayerEntry = Omit<Relayer, 'address' | 'disabledReason'>;

/** What relayers may refer to. */
export interface References {
  readonly networks: NetworkEntries;
  /** By id; undefined: whether it fits cannot be told. */
  readonly signers: ReadonlyMap<string, readonly Curve[] | undefined>;
  readonly notificationIds: ReadonlySet<string>;
}

/** Reads the relayers in the order of the file, and checks what they refer to. Problems go on the list. */
export function relayerEntries(
  entries: readonly FileEntry[],
  references: References,
  env: Environment,
  problems: Problem[],
): readonly RelayerEntry[] {
  const schema = z.strictObject({
    id,
    name: someText,
    network: someText,
    network_type: z.enum(networkTypes),
    paused: z.boolean(),
    policies: z.unknown().optional(),
    signer_id: someText,
    notification_id: someText.nullish(),
    custom_rpc_urls: rpcUrls(env).nullish(),
  });
  declaredNames(entries, 'id', problems);
  const userOf = new Map<string, string>();
  return entries.flatMap((entry): readonly RelayerEntry[] => {
    const fields = readBySchema(schema, entry.value, entry.path, problems);
    const type = networkTypes.find((known) => known === textField(entry, 'network_type'));
    const policies = type === undefined ? undefined : policiesOf(type, entry, problems);
    checkReferences(entry, type, references, problems);
    const network = references.networks.networks.find((known) => known.type === type && known.name === fields?.network);
    if (fields === undefined || policies === undefined || network === undefined) return [];
    checkSignerUse(fields.signer_id, network, entry.path, userOf, problems);
    return [
      {
        id: fields.id,
        name: fields.name,
        network,
        networkType: network.type,
        signerId: fields.signer_id,
        notificationId: fields.notification_id ?? null,
        customRpcUrls: fields.custom_rpc_urls ?? [],
        paused: fields.paused,
        policies,
      },
    ];
  });
}

/** The policies in the shape of the relayer's network; without any, its defaults. */
function policiesOf(type: NetworkType, entry: FileEntry, problems: Problem[]): RelayerPolicies | undefined {
  const value: unknown = Object.getOwnPropertyDescriptor(Object(entry.value), 'policies')?.value ?? {};
  const read = <S extends z.ZodType, P>(schema: S, fromFields: (fields: z.output<S>) => P): P | undefined => {
    const fields = readBySchema(schema, value, `${entry.path}.policies`, problems);
    return fields === undefined ? undefined : fromFields(fields);
  };
  if (type === 'evm') return read(evmPoliciesSchema, evmPoliciesFromFields);
  return type === 'stellar' ? read(stellarPoliciesSchema, stellarPoliciesFromFields) : read(solanaPoliciesSchema, solanaPoliciesFromFields);
}

function checkReferences(entry: FileEntry, type: NetworkType | undefined, references: References, problems: Problem[]): void {
  if (type !== undefined) checkNetwork(entry, type, references.networks, problems);
  checkReference(entry, 'signer_id', new Set(references.signers.keys()), 'no signer has the id', problems);
  if (type !== undefined) checkCurve(entry, type, references.signers, problems);
  checkReference(entry, 'notification_id', references.notificationIds, 'no notification has the id', problems);
}

function checkNetwork(entry: FileEntry, type: NetworkType, networks: NetworkEntries, problems: Problem[]): void {
  const name = textField(entry, 'network') ?? '';
  const otherKind = networkTypes.find((other) => networks.declared(other).has(name));
  if (networks.declared(type).has(name) || otherKind === undefined) {
    checkReference(entry, 'network', networks.declared(type), 'no network has the name', problems);
  } else {
    const problem = `${JSON.stringify(name)} is the name of a network of the type ${otherKind}, network_type is "${type}"`;
    problems.push({ path: `${entry.path}.network`, problem });
  }
}

function checkCurve(entry: FileEntry, type: NetworkType, signers: References['signers'], problems: Problem[]): void {
  const id = textField(entry, 'signer_id') ?? '';
  const curves = signers.get(id);
  const needed = curveOf(type);
  if (curves === undefined || curves.includes(needed)) return;
  const has = `the keystore of ${JSON.stringify(id)} holds a key of ${curves.join(', ')}`;
  const needs = `${type} networks need one of ${needed}: relayer keystore create --type ${needed}`;
  problems.push({ path: `${entry.path}.signer_id`, problem: `${has}, and ${needs}` });
}

function checkReference(entry: FileEntry, field: string, known: ReadonlySet<string>, sentence: string, problems: Problem[]): void {
  const name = textField(entry, field);
  if (name === undefined || name === '' || known.has(name)) return;
  const likely = likelyName(name, [...known]);
  const hint = likely === undefined ? '' : `; did you mean ${JSON.stringify(likely)}?`;
  problems.push({ path: `${entry.path}.${field}`, problem: `${sentence} ${JSON.stringify(name)}${hint}` });
}

/** The cheap half of `accountProblems`: one signer twice on one chain is one account twice, whatever its address. */
function checkSignerUse(signerId: string, network: Network, path: string, userOf: Map<string, string>, problems: Problem[]): void {
  const account = `${chainKeyOf(network)} ${signerId}`;
  const other = userOf.get(account);
  if (other === undefined) userOf.set(account, path);
  else problems.push({ path: `${path}.signer_id`, problem: `is already used on the same chain by ${other}; an account takes one relayer` });
}
