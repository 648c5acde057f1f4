import { create, type DescField, type Message } from '@bufbuild/protobuf';
import { type CreateSignerRequest, CreateSignerRequestSchema, type Signer, SignerSchema } from '../../gen/relayer/v1/signer_service_pb.js';
import { type FieldProblem, throwProblems } from '../core/errors.js';
import { type HostedKey, type HostedKeyPlace, type HostedType, requireConsistent } from '../core/signer/hosted-key.js';
import { fieldRulesOf, restNameOf } from './field-rules.js';

type Values = Readonly<Record<string, unknown>>;
type HostedConfig = Exclude<CreateSignerRequest['config'], { case: 'local' } | { case: undefined }>;

/** The public part of a hosted key that responses show. */
export interface ShownKey extends HostedKeyPlace {
  /** EIP-55; null: it is no secp256k1 key. */
  readonly evmAddress: string | null;
  /** The ed25519 public key in hex; null: it is none. */
  readonly publicKey: string | null;
}

/** Returns the fields of a kind's configuration, and whether each is a secret. */
export function hostedFieldsOf(type: string): readonly { readonly field: DescField; readonly isSecret: boolean }[] {
  const desc = CreateSignerRequestSchema.fields.find(({ name, oneof }) => oneof !== undefined && name === type)?.message;
  return (desc?.fields ?? []).map((field) => ({ field, isSecret: field.proto.options?.debugRedact === true }));
}

/** The kinds of hosted keys, by the names that REST and the configuration file use. */
export const hostedTypes: readonly HostedType[] = CreateSignerRequestSchema.fields
  .filter(({ name, oneof, message }) => oneof?.name === 'config' && message !== undefined && name !== 'local')
  .map(({ name }) => name as HostedType);

/** Returns the hosted key of a request. Throws `FIELD_INVALID` for each required field that is missing. */
export function hostedKeyFromProto({ case: localName, value }: HostedConfig): HostedKey {
  const type = CreateSignerRequestSchema.fields.find((field) => field.localName === localName)?.name ?? '';
  const at: Record<string, unknown> = {};
  const secrets: Record<string, unknown> = {};
  const problems: FieldProblem[] = [];
  for (const { field, isSecret } of hostedFieldsOf(type)) {
    const given = (value as Message & Values)[field.localName];
    const isEmpty = given === undefined || given === '';
    if (isEmpty && fieldRulesOf(field).required) problems.push({ field: `config.${restNameOf(field)}`, description: 'is required' });
    if (!isEmpty) (isSecret ? secrets : at)[restNameOf(field)] = given;
  }
  throwProblems(problems);
  const key = { type, at, secrets } as HostedKey;
  requireConsistent(key);
  return key;
}

/** Returns the message that shows a hosted key. */
export function protoOfHostedKey(id: string, { type, at, evmAddress, publicKey }: ShownKey): Signer {
  const field = SignerSchema.fields.find(({ name }) => name === type);
  if (field?.message === undefined) throw new Error(`responses have no signer of type ${type}`);
  const known: Values = { ...at, evm_address: evmAddress ?? undefined, public_key: publicKey ?? undefined };
  const values = Object.fromEntries(field.message.fields.map((one) => [one.localName, known[restNameOf(one)]]));
  const config = { case: field.localName, value: create(field.message, values) };
  return create(SignerSchema, { id, config: config as Signer['config'] });
}
