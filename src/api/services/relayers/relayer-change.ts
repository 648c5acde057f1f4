import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { clearField, clone, type DescMessage, isFieldSet, type Message } from '@bufbuild/protobuf';
import { type UpdateRelayerRequest, UpdateRelayerRequestSchema } from '../../../../gen/relayer/v1/relayer_service_pb.js';
import { type PoliciesMessage, policiesFromProto, policySchemas, protoOfPolicies, rpcUrlFromProto } from '../../../codec/relayer-values.js';
import { maskedPaths } from '../../../codec/update-mask.js';
import { invalidField } from '../../../core/errors/errors.js';
import { nothingRefused } from '../../../core/errors/read-all.js';
import { shownRpcUrl, unmaskedUrls } from '../../../core/network/node-urls.js';
import type { Relayer, RelayerPolicies } from '../../../core/records/relayer.js';
import type { RelayerChange } from '../../../core/relayer/relayers.js';

/**
 * Returns the changes of a request: the paths of its mask, or without a mask the fields that are set. A path whose field is not set removes
 * the value. A masked RPC URL is one of the relayer's. Fields that were refused already change nothing. Throws `FIELD_INVALID`, also for
 * an unknown path and for removing a required value.
 */
export function relayerChangeFromProto(relayer: Relayer, request: UpdateRelayerRequest, isRefused = nothingRefused): RelayerChange {
  const type = relayer.networkType;
  const changeable = ['name', 'paused', 'notification_id', 'custom_rpc_urls', type];
  const paths = maskedPaths(UpdateRelayerRequestSchema, request.updateMask, changeable) ?? pathsThatAreSet(request);
  const policyPaths: string[] = [];
  const change: { -readonly [K in keyof RelayerChange]: RelayerChange[K] } = {};
  for (const path of paths.filter((one) => !isRefused(one))) {
    if (path === 'name') change.name = required('name', request.name);
    else if (path === 'paused') change.paused = required('paused', request.paused);
    else if (path === 'notification_id') change.notificationId = request.notificationId || null;
    else if (path === 'custom_rpc_urls')
      change.customRpcUrls = unmaskedUrls(request.customRpcUrls.map(rpcUrlFromProto), relayer.customRpcUrls);
    else if (path === type || path.startsWith(`${type}.`)) policyPaths.push(path);
    else throw invalidField('update_mask', `must contain only fields that can change on a relayer of network type ${type}`);
  }
  if (policyPaths.length > 0) change.policies = changedPolicies(relayer.policies, request.policies, policyPaths);
  return change;
}

function pathsThatAreSet({ name, paused, notificationId, customRpcUrls, policies }: UpdateRelayerRequest): readonly string[] {
  return [
    ...(name === undefined ? [] : ['name']),
    ...(paused === undefined ? [] : ['paused']),
    ...(notificationId === undefined ? [] : ['notification_id']),
    ...(customRpcUrls.length === 0 ? [] : ['custom_rpc_urls']),
    ...(policies.case === undefined
      ? []
      : setFieldsOf(policySchemas[policies.case], policies.value).map((name) => `${policies.case}.${name}`)),
  ];
}

function setFieldsOf(schema: DescMessage, message: Message): readonly string[] {
  return schema.fields.filter((field) => isFieldSet(message, field)).map(({ name }) => name);
}

/** Returns the policies with these fields replaced from the message; the path `evm` replaces all of them. */
function changedPolicies(base: RelayerPolicies, said: PoliciesMessage, paths: readonly string[]): RelayerPolicies {
  const { network } = base;
  if (paths.includes(network)) return policiesFromProto(network, said);
  const next = protoOfPolicies(base);
  if (next.case === undefined) throw new Error('policies always have a shape');
  const schema = policySchemas[network];
  const source = said.case === network ? (said.value as Message) : undefined;
  const target: Message = clone(schema, next.value);
  for (const path of paths) {
    const field = schema.fields.find(({ name }) => path === `${network}.${name}`);
    if (field === undefined) throw invalidField('update_mask', `must contain only policies of network type ${network}`);
    clearField(target, field);
    if (source !== undefined && isFieldSet(source, field))
      Object.assign(target, { [field.localName]: Reflect.get(source, field.localName) });
  }
  return policiesFromProto(network, { ...next, value: target } as PoliciesMessage);
}

function required<T>(field: string, value: T | undefined): T {
  if (value === undefined) throw invalidField(field, 'cannot be removed');
  return value;
}

/**
 * Returns the facts of an audit line about a change: the fields, and important values that are not secret. URLs hold providers' keys, and
 * policies that stay the same are left out.
 */
export function auditedChange(before: Relayer, change: RelayerChange): Record<string, string> {
  const names = Object.keys(change) as (keyof RelayerChange)[];
  const old = Object.fromEntries(names.map((name) => [name, before[name]])) as RelayerChange;
  return { changed: names.join(' '), from: auditedFields(old, change.policies), to: auditedFields(change, old.policies) };
}

/** Returns the important fields of a relayer for an audit line, without policies that `other` has with the same value. */
export function auditedFields({ paused, policies, notificationId, customRpcUrls }: RelayerChange, other?: RelayerPolicies): string {
  const differing = policies && Object.entries(policies).filter(([name, value]) => !isDeepStrictEqual(value, other?.[name as 'network']));
  const shownPolicies = differing && Object.fromEntries(differing.map(([name, value]) => [name, auditedValue(value)]));
  return asJson({ paused, policies: shownPolicies, notificationId, customRpcUrls: customRpcUrls?.map(shownRpcUrl) });
}

/** A list may have 10,000 items, and each line must stay readable: of a long value, its digest shows which one it was. */
const maxAudited = 16_384;

function auditedValue(value: unknown): unknown {
  const text = asJson(value);
  return text.length <= maxAudited ? value : `${text.length} characters, sha256 ${hash('sha256', text, 'hex')}`;
}

function asJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner) => (typeof inner === 'bigint' ? inner.toString() : inner));
}
