import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { foldersOf, writeLicences } from './licences.js';

// Bundles the compiled service with its packages into dist/program: a start loads 85 files instead of 1,163, which halves its processor time, and needs
// 24 MB less, and users install only what a bundle cannot contain. Functions keep their names in stack traces; with `--enable-source-maps` these show the
// sources.

const folder = 'dist/program';
const referenceFolder = 'dist/reference';

/** Node.js finds these where npm installed them: the dependencies of the package. */
const notBundled = [
  // They load native code from their own folders, or are optional.
  ...['secp256k1', 'pkcs11js', 'litesvm', 'bufferutil', 'utf-8-validate'],
  // Logs show the names of its errors, which a bundle can change. It and we use the same protocol.
  ...['pg', 'pg-protocol'],
];

/** A library loads it if it is installed. */
const notNeeded = '@node-rs/xxhash';

/** Node.js warns of `Buffer()` outside of node_modules. */
const withoutOldBuffer: Plugin = {
  name: 'without-old-buffer',
  setup({ onLoad }) {
    onLoad({ filter: /node_modules\/base32\.js\/index\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace('new Buffer(bytes)', 'Buffer.from(bytes)'),
    }));
  },
};

/** What runs as a process or a thread: each finds the others beside its own file, as in the compiled files. Tests run the commands of `program`. */
const programs = [
  'main',
  'cli/program',
  'signers/pkcs11/thread',
  'storage/sqlite/checkpoint',
  'storage/sqlite/copy-database',
  'sandbox/solana-cluster',
  'sandbox/stellar-ledger',
];

const { outputFiles, metafile } = await build({
  entryPoints: programs.map((path) => `dist/src/${path}.js`),
  entryNames: '[name]',
  chunkNames: '[name]-[hash]',
  outdir: folder,
  bundle: true,
  // What the service loads only if it is configured stays apart.
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: notBundled,
  // The service needs the formats alone; the SDK around them brings clients of its own.
  alias: { '@stellar/stellar-sdk': '@stellar/stellar-sdk/base' },
  plugins: [withoutOldBuffer],
  // Packages in CommonJS need it.
  banner: {
    js: "import { createRequire as bannerCreateRequire } from 'node:module';\nconst require = bannerCreateRequire(import.meta.url);",
  },
  sourcemap: 'linked',
  sourcesContent: false,
  write: false,
  metafile: true,
  logLevel: 'warning',
});

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const installed = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.peerDependencies };
for (const { imports } of Object.values(metafile.outputs)) {
  const missing = imports.find(
    ({ path, external }) =>
      external === true && !isBuiltin(path) && !path.startsWith('node:') && !(path in installed) && path !== notNeeded,
  );
  if (missing !== undefined) throw new Error(`the bundle loads ${missing.path}, which is not a dependency of the package`);
}

// A service that runs from here loads parts later, so an equal file is not touched, and the others go last.
mkdirSync(folder, { recursive: true });
for (const { path, contents } of outputFiles) if (!existsSync(path) || !readFileSync(path).equals(contents)) writeFileSync(path, contents);
const written = new Set(outputFiles.map(({ path }) => basename(path)));
for (const name of readdirSync(folder)) if (!written.has(name)) rmSync(join(folder, name));
writeLicences(folder, foldersOf(metafile));

// The page of the reference is not bundled, but served as it is.
const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
mkdirSync(referenceFolder, { recursive: true });
for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css']) copyFileSync(join(swaggerUi, name), join(referenceFolder, name));
writeLicences(referenceFolder, [swaggerUi]);
