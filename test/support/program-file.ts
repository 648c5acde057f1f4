import { fileURLToPath } from 'node:url';

/** The built program. Tests run from the build, so it is always beside them. */
export const programFile = fileURLToPath(new URL('../../program/main.js', import.meta.url));
