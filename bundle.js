import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

/*
 * Replaces the compiled `dist/src/main.js`, which loads hundreds of files, by a program in few files: it starts with half the processor time. The compiler has
 * checked the types. Each part that is imported only when it is needed has a file of its own in `dist/src/bundle`.
 */

const parts = 'bundle';
const folder = join('dist/src', parts);
// The program itself, and what it starts as processes and threads: each finds them beside its own file.
const entries = ['src/storage/sqlite/checkpoint.ts', 'src/storage/sqlite/copy-database.ts', 'src/signers/pkcs11/thread.ts'];

const { metafile } = await build({
  entryPoints: [{ in: 'src/main.ts', out: 'main' }, ...entries.map((file) => ({ in: file, out: join(parts, basename(file, '.ts')) }))],
  outdir: 'dist/src',
  chunkNames: `${parts}/[name]-[hash]`,
  bundle: true,
  splitting: true,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  sourcesContent: false,
  // Logs show the names of errors.
  keepNames: true,
  external: [
    // They load native code from their own folders.
    ...['better-sqlite3', 'pg-native', 'pkcs11js', 'secp256k1'],
    // It calls `Buffer()`, of which Node warns outside of `node_modules`.
    '@stellar/stellar-sdk',
  ],
  // For packages in CommonJS that load Node's own modules.
  banner: { js: "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);" },
  logLevel: 'warning',
});

// A running service may still import a file that has not changed, so only those of other builds are removed.
for (const file of readdirSync(folder)) if (!(join(folder, file) in metafile.outputs)) rmSync(join(folder, file));
