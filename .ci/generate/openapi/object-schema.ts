import type { DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import type { RestKey } from '../../../gen/relayer/rest/v1/options_pb.js';
import { enumTextsOf } from '../../../src/codec/enum-codec.js';
import { fieldRulesOf, restKeysOf, restNameOf, unionRulesOf } from '../../../src/codec/field-rules.js';
import { commentOf } from './comment.js';
import type { Direction, NamedSchemas } from './scalar-schema.js';
import { described, orNull, type Schema } from './schema.js';

/** Compiles the schemas of fields and of the messages that they hold. */
export interface FieldSchemas extends NamedSchemas {
  field(field: DescField, direction: Direction): Schema;
  value(field: DescField, direction: Direction): Schema;
  message(desc: DescMessage, direction: Direction): Schema;
}

/** How an object is compiled. */
interface ObjectForm {
  readonly direction: Direction;
  /** The name of its schema, with which the names of its cases begin. */
  readonly name: string;
  /** Fields that are not keys: the path has them, or the gateway sets them. */
  readonly exclude?: ReadonlySet<string>;
  /** Further keys. `suffix` then distinguishes the names of its cases. */
  readonly extra?: Keys;
  readonly suffix?: string;
}

/** The keys of an object. */
interface Keys {
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  /** By a key: those that are required beside it. */
  readonly requiredWith?: Readonly<Record<string, readonly string[]>>;
  /** Limits of the object as a whole. */
  readonly limits?: Schema;
}

/** One case of a union whose keys are beside those of its object. */
interface Case {
  readonly name: string;
  readonly description: string;
  readonly keys: Keys;
  /** The case as a schema of its own, for an object that has no keys beside the union. */
  readonly alone?: () => Schema;
  /** The texts of the discriminator that choose it. */
  readonly tags: readonly string[];
}

/** A union whose cases replace the object. */
interface Cases {
  /** The key whose text chooses the case; null if the relayer's network chooses it. */
  readonly discriminator: string | null;
  readonly cases: readonly Case[];
}

/** Returns these keys, all required. */
export function withKeys(properties: Readonly<Record<string, Schema>>): Keys {
  return { properties, required: Object.keys(properties) };
}

/** Compiles a message to an object, or to a union of objects of which each has all keys. */
export function objectSchema(schemas: FieldSchemas, desc: DescMessage, form: ObjectForm): Schema {
  const unions = desc.members.filter((member) => member.kind === 'oneof').map((oneof) => casesOf(schemas, oneof, form));
  const [union, ...others] = unions.filter((one) => one !== null);
  if (others.length > 0) throw new Error(`${desc} has two unions whose cases are beside its other keys`);
  const own = merged(form.extra ?? { properties: {}, required: [] }, ownKeysOf(schemas, desc, form));
  if (union === undefined) return keysSchema(own, form.direction);
  const isAlone = Object.keys(own.properties).length === 0;
  const refs = union.cases.map(({ name, description, keys, alone }) =>
    isAlone && alone !== undefined
      ? alone()
      : schemas.add(name, described({ title: name, ...keysSchema(merged(own, keys), form.direction) }, description)),
  );
  const { discriminator } = union;
  if (discriminator === null) return { oneOf: refs };
  const mapping = union.cases.flatMap(({ tags }, index) => tags.map((tag) => [tag, refs[index]?.$ref]));
  return { oneOf: refs, discriminator: { propertyName: discriminator, mapping: Object.fromEntries(mapping) } };
}

/** Requests reject unknown keys. Responses say that they may get more keys: some generators would reject those otherwise. */
function keysSchema({ properties, required, requiredWith = {}, limits = {} }: Keys, direction: Direction): Schema {
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(Object.keys(requiredWith).length === 0 ? {} : { dependentRequired: requiredWith }),
    ...limits,
    additionalProperties: direction === 'answer',
  };
}

function merged(left: Keys, right: Keys): Keys {
  return {
    properties: { ...left.properties, ...right.properties },
    required: [...left.required, ...right.required.filter((key) => !left.required.includes(key))],
    requiredWith: { ...left.requiredWith, ...right.requiredWith },
    limits: { ...left.limits, ...right.limits },
  };
}

/** Collects the keys of a message that do not depend on a case. */
function ownKeysOf(schemas: FieldSchemas, desc: DescMessage, { direction, name, exclude }: ObjectForm): Keys {
  const own = desc.members.reduce<Keys>(
    (keys, member) => {
      if (exclude?.has(member.name) === true) return keys;
      if (member.kind === 'field' && fieldRulesOf(member).rpcOnly) return keys;
      if (member.kind === 'field') return merged(keys, fieldKey(schemas, member, direction));
      const { selector, under } = unionRulesOf(member);
      if (selector.case === undefined) return merged(keys, plainKeys(schemas, member, direction));
      return selector.case === 'relayerNetwork' && under !== ''
        ? merged(keys, underKey(schemas, member, `${name}${pascal(under)}`, direction))
        : keys;
    },
    { properties: {}, required: [] },
  );
  return restKeysOf(desc).reduce((keys, key) => merged(keys, restKey(schemas, desc, key, direction)), own);
}

/** A key that only REST has. */
function restKey(schemas: FieldSchemas, desc: DescMessage, { name, description, content }: RestKey, direction: Direction): Keys {
  if (content.case === 'copyOf') {
    const field = desc.fields.find((one) => one.name === content.value);
    return direction === 'request' || field === undefined
      ? { properties: {}, required: [] }
      : withKeys({ [name]: described(schemas.field(field, direction), description) });
  }
  if (direction === 'answer') return { properties: {}, required: [] };
  if (content.case === 'aliasOf') {
    const field = desc.fields.find((one) => one.name === content.value);
    return {
      properties: field === undefined ? {} : { [name]: described(orNull(schemas.field(field, direction)), description) },
      required: [],
    };
  }
  const type = content.case === 'unsupported' ? 'boolean' : 'string';
  return { properties: { [name]: described(orNull({ type }), description) }, required: [] };
}

function fieldKey(schemas: FieldSchemas, field: DescField, direction: Direction): Keys {
  const key = restNameOf(field);
  const schema = schemas.field(field, direction);
  const { nullable, nonEmpty, unset, required: isDeclared, requiredWith } = fieldRulesOf(field);
  const isRequest = direction === 'request';
  // In requests null means absent. In responses only optional fields can be absent; the nullable ones of them are null instead.
  const required = isRequest ? isDeclared : nullable || unset !== '' || !(field.proto.proto3Optional || nonEmpty);
  const mayBeNull = isRequest ? !required : nullable;
  return {
    properties: { [key]: described(mayBeNull ? orNull(schema) : schema, commentOf(field)) },
    required: required ? [key] : [],
    requiredWith: isRequest && requiredWith !== '' ? { [requiredWith]: [key] } : {},
  };
}

/** Each case is a key; at most one may be present. Cases of a required union beside other keys are objects of their own. */
function plainKeys(schemas: FieldSchemas, oneof: DescOneof, direction: Direction): Keys {
  if (isCaseByCase(oneof)) return { properties: {}, required: [] };
  const keys = oneof.fields.map((field) => [restNameOf(field), described(schemas.value(field, direction), commentOf(field))]);
  const limits = unionRulesOf(oneof).required ? { minProperties: 1, maxProperties: 1 } : {};
  return { properties: Object.fromEntries(keys), required: [], limits };
}

function isCaseByCase(oneof: DescOneof): boolean {
  return unionRulesOf(oneof).required && oneof.parent.members.length + restKeysOf(oneof.parent).length > 1;
}

/** One key holds the case that the relayer's network chooses. */
function underKey(schemas: FieldSchemas, oneof: DescOneof, name: string, direction: Direction): Keys {
  // Not `oneOf`: an object with optional keys only can match several cases.
  const anyOf = { title: name, anyOf: oneof.fields.map((field) => schemas.message(messageOf(field), direction)) };
  const ref = schemas.add(name, described(anyOf, commentOf(oneof)));
  return { properties: { [unionRulesOf(oneof).under]: described(orNull(ref), commentOf(oneof)) }, required: [] };
}

/** Returns the cases of a union whose keys are beside those of its object; null if it is not such a union. */
function casesOf(schemas: FieldSchemas, oneof: DescOneof, form: ObjectForm): Cases | null {
  const { selector, under } = unionRulesOf(oneof);
  switch (selector.case) {
    case undefined:
      return isCaseByCase(oneof) ? { discriminator: null, cases: oneof.fields.map((field) => keyCase(schemas, field, form)) } : null;
    case 'relayerNetwork':
      return under === '' ? { discriminator: null, cases: oneof.fields.map((field) => networkCase(schemas, field, form)) } : null;
    case 'sibling':
      return siblingCases(schemas, oneof, selector.value, form);
    case 'tag':
      return { discriminator: selector.value, cases: oneof.fields.map((field) => taggedCase(schemas, field, selector.value, form)) };
  }
}

/** A case that is one required key. */
function keyCase(schemas: FieldSchemas, field: DescField, { direction, name }: ObjectForm): Case {
  const key = restNameOf(field);
  const keys = withKeys({ [key]: described(schemas.value(field, direction), commentOf(field)) });
  return { name: name + pascal(field.name), description: commentOf(field), keys, tags: [] };
}

/** The keys that a response has as null, since only other cases of the union have them. */
function nullKeysOf(schemas: FieldSchemas, field: DescField, direction: Direction): Keys {
  if (field.oneof === undefined || direction === 'request') return withKeys({});
  const { nullKeys } = unionRulesOf(field.oneof);
  const own = messageOf(field).fields.map(restNameOf);
  const others = field.oneof.fields.flatMap((other) => messageOf(other).fields);
  const nulls = nullKeys
    .filter((key) => !own.includes(key))
    .map((key): [string, Schema] => {
      const other = others.find((one) => restNameOf(one) === key);
      if (other === undefined) throw new Error(`${field.oneof} has the null key ${key}, which none of its cases has`);
      return [key, described(orNull(schemas.field(other, direction)), 'Null: transactions on this network do not have it.')];
    });
  return withKeys(Object.fromEntries(nulls));
}

/** A case that the relayer's network chooses. In responses it has the name of its message, because that message is nowhere else. */
function networkCase(schemas: FieldSchemas, field: DescField, { direction, name, suffix = '' }: ObjectForm): Case {
  const message = messageOf(field);
  return {
    name: direction === 'answer' ? message.name + suffix : name + pascal(field.name),
    description: commentOf(message),
    keys: merged(ownKeysOf(schemas, message, { direction, name: message.name }), nullKeysOf(schemas, field, direction)),
    alone: () => schemas.message(message, direction),
    tags: [],
  };
}

/** The text of an enum beside the union chooses the case; one text without a case has no content. */
function siblingCases(schemas: FieldSchemas, oneof: DescOneof, sibling: string, { direction, name }: ObjectForm): Cases {
  const field = oneof.parent.fields.find((one) => one.name === sibling);
  if (field?.enum === undefined) throw new Error(`${oneof} is chosen by ${sibling}, which is not an enum beside it`);
  const { under } = unionRulesOf(oneof);
  const cases = [...enumTextsOf(field.enum).values()].map((text): Case => {
    const content = oneof.fields.find((one) => one.name === text);
    const tag = tagKey(schemas, { key: sibling, texts: [text], caseName: name + pascal(text), description: commentOf(field), direction });
    const description = content === undefined ? '' : commentOf(content);
    return { name: name + pascal(text), description, keys: merged(tag, contentKeys(content)), tags: [text] };
  });
  return { discriminator: sibling, cases };

  function contentKeys(content: DescField | undefined): Keys {
    if (content === undefined) return { properties: {}, required: [] };
    if (under === '') return ownKeysOf(schemas, messageOf(content), { direction, name });
    const schema = schemas.message(messageOf(content), direction);
    return { properties: { [under]: described(direction === 'request' ? orNull(schema) : schema, commentOf(oneof)) }, required: [] };
  }
}

/** A key beside the content chooses the case; the content's keys are beside it, or the content is under a key of its own. */
function taggedCase(schemas: FieldSchemas, field: DescField, tag: string, { direction, name }: ObjectForm): Case {
  const { content } = unionRulesOf(field.oneof as DescOneof);
  const tags = tagsOf(field);
  // Responses have the first tag; requests may have any.
  const chosen = direction === 'request' ? tags : tags.slice(0, 1);
  const caseName = name + pascal(field.name);
  const key = tagKey(schemas, { key: tag, texts: chosen, caseName, description: commentOf(field), direction });
  return { name: caseName, description: commentOf(field), keys: merged(key, contentKeys()), tags: chosen };

  function contentKeys(): Keys {
    if (content === '') return ownKeysOf(schemas, messageOf(field), { direction, name: caseName });
    if (field.message?.fields.length !== 0) return withKeys({ [content]: described(schemas.value(field, direction), commentOf(field)) });
    // An empty message may be absent or null in requests, and is absent in responses.
    const absent = described({ type: ['string', 'null'], maxLength: 0 }, commentOf(field));
    return { properties: direction === 'request' ? { [content]: absent } : {}, required: [] };
  }
}

/** The key that chooses a case. */
interface Tag {
  readonly key: string;
  readonly texts: readonly string[];
  readonly caseName: string;
  readonly description: string;
  readonly direction: Direction;
}

/** In responses the texts have a name: some generators check only those, and know the case by them. */
function tagKey(schemas: FieldSchemas, { key, texts, caseName, description, direction }: Tag): Keys {
  const schema = { type: 'string', enum: texts };
  const name = caseName + pascal(key);
  return withKeys({ [key]: described(direction === 'answer' ? schemas.add(name, { title: name, ...schema }) : schema, description) });
}

function tagsOf(field: DescField): readonly string[] {
  const { tags } = fieldRulesOf(field);
  return tags.length > 0 ? tags : [field.name];
}

function messageOf(field: DescField): DescMessage {
  if (field.message === undefined) throw new Error(`${field} is not a message, so its union cannot be flattened`);
  return field.message;
}

/** `invoke_contract` becomes `InvokeContract`. */
export function pascal(text: string): string {
  return text.replace(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
