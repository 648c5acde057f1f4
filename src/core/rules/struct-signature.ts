import { type FunctionSignature, isWordType, readSignature } from './function-signature.js';

/** A struct of EIP-712 as a rule names it. */
export interface StructSignature {
  /** As EIP-712 writes it: `Permit(address owner,address spender,…)`. */
  readonly encoded: string;
  /** Its fields, each of which is one word in the data that is hashed. */
  readonly fields: FunctionSignature;
}

/** Reads a struct whose fields are no structs or arrays. Returns what is wrong with it, to follow the field's name. */
export function readStruct(text: string): StructSignature | string {
  const fields = readSignature(text);
  if (typeof fields === 'string') return fields;
  const { canonical, parameters } = fields;
  if (parameters.length === 0) return 'must have fields';
  for (const { name, type } of parameters) {
    if (name === null) return `must name each field: ${type} has no name`;
    if (!isWordType(type) && type !== 'string' && type !== 'bytes')
      return `has a field of type ${type}, which a rule cannot read in typed data`;
  }
  const name = canonical.slice(0, canonical.indexOf('('));
  return { encoded: `${name}(${parameters.map((one) => `${one.type} ${one.name}`).join(',')})`, fields };
}
