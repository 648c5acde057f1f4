import { cpSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';

/*
 * Lists the files of the image, or copies them into a folder, with the Node.js and for the platform that run this: the program with what it serves, and of
 * the packages that are not in its bundle what it loads. Run it after a build:
 *
 *     node dist/.ci/image-files.js [folder]
 */

const ownFiles = ['package.json', 'LICENSE', 'dist/program', 'dist/console', 'dist/reference', 'gen/contract', 'gen/reference'];

/** The client of the package needs their types; the program has their code in its bundle. */
const inBundle = ['@bufbuild/protobuf', '@connectrpc/connect'];

/** The program never loads what is slower than the native code. */
const loadedPart: Readonly<Record<string, string>> = { secp256k1: 'secp256k1/bindings' };

const [target] = process.argv.slice(2);
const files = [...ownFiles.flatMap(filesIn).filter((file) => !file.endsWith('.map')), ...(await packageFiles())].sort();
let bytes = 0;
for (const file of files) {
  const { size } = statSync(file);
  bytes += size;
  if (target === undefined) process.stdout.write(`${String(size).padStart(9)} ${file}\n`);
  else cpSync(file, join(target, file));
}
process.stdout.write(`${files.length} files, ${(bytes / 1e6).toFixed(1)} MB\n`);

/** Returns the files of packages that the program loads, with their licences. */
async function packageFiles(): Promise<readonly string[]> {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const names = Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !inBundle.includes(name));
  // Those for another Node.js are not installed.
  const parts = names.filter((name) => existsSync(join('node_modules', name))).map((name) => loadedPart[name] ?? name);
  const { metafile } = await build({
    // The program imports some and requires others, and a package can have a file for each.
    stdin: { contents: parts.map((part) => `import '${part}'; require('${part}');`).join('\n'), resolveDir: '.' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['pg-native', '*.node'],
    metafile: true,
    write: false,
    logLevel: 'error',
  });
  const loaded = Object.keys(metafile.inputs).filter((file) => file.startsWith('node_modules/'));
  const folders = new Set(loaded.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? file));
  const others = [...folders].flatMap((folder) => filesIn(folder).filter((file) => isNeeded(relative(folder, file))));
  return [...new Set([...loaded, ...others])];
}

/** Returns true for what a package needs besides its modules: its description, licence and native code for this platform. */
function isNeeded(file: string): boolean {
  if (file === 'package.json' || /^(licen[cs]e|copying|notice)[^/]*$/i.test(file)) return true;
  return file.endsWith('.node') && new RegExp(`^(build/Release/[^/]+|prebuilds/${process.platform}-${process.arch}[./].*)$`).test(file);
}

function filesIn(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path];
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(relative('.', entry.parentPath), entry.name));
}
