import { execFileSync } from 'node:child_process';
import { build } from 'esbuild';
import { foldersOf, writeLicences } from './licences.js';
import { smallDefinitions, smallDescriptor, withoutParts } from './small-definitions.js';

// Builds the package's client: dist/client/index.js with everything that it imports, for Node.js and browsers, and its types in dist/client/types.

const { metafile } = await build({
  entryPoints: ['src/client/index.ts'],
  outdir: 'dist/client',
  bundle: true,
  // The bundler of an application minifies it.
  minify: false,
  format: 'esm',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  target: 'es2022',
  logLevel: 'warning',
  metafile: true,
  plugins: [smallDefinitions(/^$/), smallDescriptor, withoutParts(['json'])],
});
writeLicences('dist/client', foldersOf(metafile));
const types = ['--emitDeclarationOnly', '--declaration', '--noEmit', 'false', '--outDir', 'dist/client/types'];
execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'src/client', ...types], { stdio: 'inherit' });
