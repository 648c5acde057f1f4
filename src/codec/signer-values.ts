import { create, type DescField, type DescMessage, type Message } from '@bufbuild/protobuf';
import { type CreateSignerRequest, CreateSignerRequestSchema, type Signer, SignerSchema } from '../../gen/relayer/v1/signer_service_pb.js';
import { type FieldProblem, throwProblems } from '../core/errors/errors.js';
import { type HostedKey, type HostedKeyPlace, type HostedType, requireConsistent } from '../core/signer/hosted-key.js';
import { enumTextsOf } from './enum-codec.js';
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

/** A field of a kind's configuration. */
export interface HostedField {
  /** The field, after the fields of the messages that it is in. */
  readonly path: readonly DescField[];
  /** The names of the path in REST and in the file, with dots. */
  readonly name: string;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
}

/** Returns the fields of a kind's configuration; a message in it is replaced by its fields. */
export function hostedFieldsOf(type: string): readonly HostedField[] {
  const desc = CreateSignerRequestSchema.fields.find(({ name, oneof }) => oneof !== undefined && name === type)?.message;
  return (desc?.fields ?? []).flatMap((field) => leavesOf([field]));
}

function leavesOf(path: readonly DescField[]): readonly HostedField[] {
  const field = path.at(-1);
  if (field === undefined) return [];
  if (field.message !== undefined) return field.message.fields.flatMap((inner) => leavesOf([...path, inner]));
  const isSecret = field.proto.options?.debugRedact === true;
  return [{ path, name: path.map(restNameOf).join('.'), isRequired: fieldRulesOf(field).required === true, isSecret }];
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
  for (const { path, name, isRequired, isSecret } of hostedFieldsOf(type)) {
    let given: unknown = value;
    for (const { localName: key } of path) given = (given as (Message & Values) | undefined)?.[key];
    const choices = path.at(-1)?.enum;
    if (choices !== undefined) given = enumTextsOf(choices).get(given as number);
    const isEmpty = given === undefined || given === '';
    if (isEmpty && isRequired) problems.push({ field: `config.${name}`, description: 'is required' });
    if (!isEmpty) (isSecret ? secrets : at)[name] = given;
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
  // A configured public key is shown as it is configured.
  const known: Values = { evm_address: evmAddress ?? undefined, public_key: publicKey ?? undefined, ...at };
  const config = { case: field.localName, value: messageFrom(field.message, known, '') };
  return create(SignerSchema, { id, config: config as Signer['config'] });
}

/** Makes a message of values by their paths. */
function messageFrom(desc: DescMessage, values: Values, prefix: string): Message {
  const contentOf = (field: DescField): unknown => {
    const name = prefix + restNameOf(field);
    if (field.enum !== undefined) return [...enumTextsOf(field.enum)].find(([, text]) => text === values[name])?.[0];
    return field.message === undefined ? values[name] : messageFrom(field.message, values, `${name}.`);
  };
  return create(desc, Object.fromEntries(desc.fields.map((field) => [field.localName, contentOf(field)])));
}
