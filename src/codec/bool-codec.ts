import type { ValueCodec } from './value-codec.js';

/** True or false. */
export const boolCodec: ValueCodec = {
  read: (value, path, reading) => (typeof value === 'boolean' ? value : reading.refuse(path, 'must be true or false')),
  write: String,
};
