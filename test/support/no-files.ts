import type { ConfigFiles } from '../../src/core/records/config-files.js';

/** The configuration of an instance without files. */
export const noFiles: ConfigFiles = { hashes: new Map(), revision: 0 };
