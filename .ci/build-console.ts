import { build, type Plugin } from 'esbuild';
import { comments } from '../gen/comments.js';
import { foldersOf, writeLicences } from './licences.js';
import { smallDefinitions, smallDescriptor, withoutParts } from './small-definitions.js';

// Bundles the console for browsers: dist/console/console.js and console.css. Transformations keep it small; none changes what it does.

/** The definitions whose options the console reads: it writes their calls as REST requests, to copy, and shows their limits and names. */
const withOptions = /\/(transaction_service|signing_service|api_key_service|evm|stellar|solana)_pb\.ts$/;

/** The messages and enums that forms are made from: their comments are the help. */
const inForms =
  /^relayer\.v1\.((Create(Relayer|Signer|Notification|ApiKey)|RotateApiKey|Sign(Data|TypedData)|(Evm|Stellar|Solana)(Sign|Transaction))Request|(Evm|Stellar|Solana)Policies|MemoSpec|PaymentOperation|RpcUrl|ApiKeyScope)\.(?!idempotency_key)\w+$/;

/** Keeps the comments that forms show. */
const formComments: Plugin = {
  name: 'form-comments',
  setup({ onLoad }) {
    onLoad({ filter: /\/gen\/comments\.ts$/ }, () => {
      const kept = Object.entries(comments).filter(([name]) => inForms.test(name));
      return { contents: `export const comments = ${JSON.stringify(Object.fromEntries(kept))};` };
    });
  },
};

const { metafile } = await build({
  entryPoints: ['src/console/main.tsx', 'src/console/style/main.css'],
  entryNames: 'console',
  outdir: 'dist/console',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'transform',
  jsxFactory: 'jsxElement',
  jsxFragment: 'jsxFragment',
  inject: ['src/console/jsx.ts'],
  // Instead of src/console/tsconfig.json, whose form of JSX it would use.
  tsconfigRaw: {},
  logLevel: 'warning',
  metafile: true,
  plugins: [smallDefinitions(withOptions), formComments, smallDescriptor, withoutParts(['json', 'checks'])],
});
writeLicences('dist/console', foldersOf(metafile));
