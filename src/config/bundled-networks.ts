import type { z } from 'zod';
import type { networkSchemas } from './network-schemas.js';

type Schemas = ReturnType<typeof networkSchemas>;

/** A network as the configuration file writes it. */
export type FileNetwork = { readonly [Type in keyof Schemas]: z.input<Schemas[Type]> }[keyof Schemas];

export const bundledNetworks: readonly FileNetwork[] = [];
