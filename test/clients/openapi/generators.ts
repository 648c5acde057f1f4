import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from '../run-command.js';
import type { Client } from '../suite.js';
import { npmPackages, oapiCodegen, openApiGenerator, pythonWith } from './tools.js';

/*
 * One client per generator, from the `/openapi.json` of the running service. Each folder beside this file has the program that uses the
 * generated code; docs/clients.md shows the same commands.
 */

/** What a client needs to call the service. */
export interface ClientTarget {
  readonly baseUrl: string;
  /** The service with a Stellar relayer. */
  readonly stellarUrl: string;
  readonly apiKey: string;
  /** A folder of responses and events as the service writes them, which the client decodes without a call. */
  readonly recordsFolder: string;
}

/** A client that a generator makes from the OpenAPI document. */
export interface OpenApiClient extends Client {
  /** Generates and compiles in this empty folder. */
  build(folder: string, target: ClientTarget): Promise<void>;
  /** Runs the client; resolves to what it printed. */
  run(folder: string, target: ClientTarget): Promise<string>;
}

/** Where the program of each client is. */
const sources = 'test/clients/openapi';

const pythonRequirements = ['urllib3==2.7.0', 'pydantic==2.12.3', 'python-dateutil==2.9.0.post0', 'typing-extensions==4.15.0'];
const fetchPackages = ['typescript@5.9.3', '@types/node@20.19.24'];

/** All clients. */
export const openApiClients: readonly OpenApiClient[] = [
  {
    name: 'openapi-generator-java',
    programs: ['java', 'mvn'],
    async build(folder, target) {
      await openApiGenerate('java', folder, target, []);
      await copySource('java/Client.java', join(folder, 'src/main/java/com/example/Client.java'));
      await runCommand('mvn', ['-q', '-B', 'compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath'], { cwd: folder });
    },
    run: (folder, target) =>
      runCommand('bash', ['-c', 'java -cp "target/classes:$(cat classpath)" com.example.Client'], {
        cwd: folder,
        env: environmentOf(target),
      }),
  },
  {
    name: 'openapi-generator-python',
    programs: ['java', 'mvn', 'python3'],
    async build(folder, target) {
      await openApiGenerate('python', folder, target, ['--package-name', 'relayer']);
      await copySource('python/client.py', join(folder, 'client.py'));
    },
    async run(folder, target) {
      const python = await pythonWith('openapi-generator-python', pythonRequirements);
      return runCommand(python, ['client.py'], { cwd: folder, env: environmentOf(target) });
    },
  },
  {
    name: 'openapi-generator-typescript',
    programs: ['java', 'mvn', 'npm'],
    async build(folder, target) {
      await openApiGenerate('typescript-fetch', join(folder, 'relayer'), target, ['--additional-properties=importFileExtension=.js']);
      await copySource('typescript-fetch/client.ts', join(folder, 'client.ts'));
      await compileTypeScript(folder);
    },
    run: (folder, target) => runCommand(process.execPath, ['out/client.js'], { cwd: folder, env: environmentOf(target) }),
  },
  {
    name: 'openapi-generator-go',
    programs: ['java', 'mvn', 'go'],
    async build(folder, target) {
      await openApiGenerate('go', join(folder, 'relayer'), target, [
        '--package-name',
        'relayer',
        '--additional-properties=enumClassPrefix=true,withGoMod=false',
        '--type-mappings=number=json.Number',
        '--git-host=example.com',
        '--git-user-id=team',
        '--git-repo-id=relayer',
      ]);
      await compileGo(folder, 'go/main.go');
    },
    run: (folder, target) => runCommand('./client', [], { cwd: folder, env: environmentOf(target) }),
  },
  {
    name: 'oapi-codegen',
    programs: ['go'],
    async build(folder, { baseUrl }) {
      await download(`${baseUrl}/openapi.json`, folder);
      await mkdir(join(folder, 'relayer'));
      await runCommand(
        await oapiCodegen(),
        ['-generate', 'types,client,skip-prune', '-package', 'relayer', '-o', 'relayer/relayer.go', 'openapi.json'],
        { cwd: folder },
      );
      await compileGo(folder, 'oapi-codegen/main.go');
    },
    run: (folder, target) => runCommand('./client', [], { cwd: folder, env: environmentOf(target) }),
  },
  {
    name: 'openapi-python-client',
    programs: ['python3'],
    async build(folder, { baseUrl }) {
      const scripts = dirname(await openapiPythonClient());
      const args = ['generate', '--url', `${baseUrl}/openapi.json`, '--meta', 'none', '--output-path', 'relayer', '--fail-on-warning'];
      // It formats the code with ruff, which is beside it.
      const env = { PATH: `${scripts}:${process.env.PATH}` };
      await runCommand(join(scripts, 'openapi-python-client'), args, { cwd: folder, env });
      await copySource('openapi-python-client/client.py', join(folder, 'client.py'));
    },
    run: async (folder, target) => runCommand(await openapiPythonClient(), ['client.py'], { cwd: folder, env: environmentOf(target) }),
  },
  {
    name: 'openapi-typescript',
    programs: ['npm'],
    async build(folder, { baseUrl }) {
      const packages = await npmPackages('openapi-typescript-7.13.0', [
        'openapi-typescript@7.13.0',
        'openapi-fetch@0.17.0',
        ...fetchPackages,
      ]);
      await runCommand(join(packages, 'node_modules/.bin/openapi-typescript'), [`${baseUrl}/openapi.json`, '-o', 'relayer.d.ts'], {
        cwd: folder,
      });
      await copySource('openapi-typescript/client.ts', join(folder, 'client.ts'));
      await runCommand('ln', ['-s', join(packages, 'node_modules'), 'node_modules'], { cwd: folder });
      await compileTypeScript(folder);
    },
    run: (folder, target) => runCommand(process.execPath, ['out/client.js'], { cwd: folder, env: environmentOf(target) }),
  },
];

/** Returns the environment in which a client finds the service. */
function environmentOf({ baseUrl, stellarUrl, apiKey, recordsFolder }: ClientTarget): Readonly<Record<string, string>> {
  return { RELAYER_URL: baseUrl, RELAYER_STELLAR_URL: stellarUrl, RELAYER_API_KEY: apiKey, RECORDS_FOLDER: recordsFolder };
}

async function openApiGenerate(generator: string, output: string, { baseUrl }: ClientTarget, more: readonly string[]): Promise<void> {
  await mkdir(output, { recursive: true });
  const code = '--global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';
  const input = ['-g', generator, '-i', `${baseUrl}/openapi.json`, '-o', output];
  const args = ['-jar', await openApiGenerator(), 'generate', ...input, code, ...more];
  await runCommand('java', args, { cwd: output });
}

async function compileGo(folder: string, source: string): Promise<void> {
  await copySource(source, join(folder, 'main.go'));
  await runCommand('go', ['mod', 'init', 'example.com/team'], { cwd: folder });
  await runCommand('go', ['mod', 'tidy'], { cwd: folder });
  await runCommand('go', ['build', '-o', 'client', '.'], { cwd: folder });
}

/** Compiles `client.ts` and what it imports to `out`. */
async function compileTypeScript(folder: string): Promise<void> {
  const packages = await npmPackages('typescript-5.9.3', fetchPackages);
  const args = ['--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom'];
  const types = ['--types', 'node', '--typeRoots', join(packages, 'node_modules/@types')];
  await runCommand('npm', ['init', '--yes', '--init-type=module'], { cwd: folder });
  await runCommand('npm', ['pkg', 'set', 'type=module'], { cwd: folder });
  await runCommand(join(packages, 'node_modules/.bin/tsc'), [...args, ...types, '--outDir', 'out', 'client.ts'], { cwd: folder });
}

/** Makes the environment in which openapi-python-client and the client run. */
function openapiPythonClient(): Promise<string> {
  return pythonWith('openapi-python-client-0.29.1', ['openapi-python-client==0.29.1', 'ruff==0.14.5']);
}

async function download(url: string, folder: string): Promise<void> {
  await runCommand('curl', ['-sSf', '-o', 'openapi.json', url], { cwd: folder });
}

async function copySource(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await copyFile(join(sources, source), target);
}
