import type { z } from 'zod';
import type { networkSchemas } from './network-schemas.js';

type Schemas = ReturnType<typeof networkSchemas>;

/** A network in the words of the configuration file. */
export type FileNetwork = { readonly [Type in keyof Schemas]: z.input<Schemas[Type]> }[keyof Schemas];
