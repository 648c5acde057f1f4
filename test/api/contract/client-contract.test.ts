import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fromBinary, toJson } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { unzipSync } from 'fflate';
import { type AppRig, startAppRig } from '../../support/app-rig.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** Debian's Python, since its protobuf packages install there. */
const python = '/usr/bin/python3';

/** Words that Python, Java, Go, C++, C#, Rust, Swift or Kotlin reserve, as far as a field could be named so; without those that their generators accept. */
const reservedWords = new Set(
  'abstract and as assert async auto await base bool break byte case catch char class const continue crate def default defer delete do double else enum except extends extern false final finally float fn for from func function global go if impl implements import in init int interface internal is lambda let lock long map match mod module move mut namespace new nil not null object operator or out override package pass private protected public range readonly ref register return sealed select self short signed sizeof static string struct super switch template this throw trait true try typedef union unsafe unsigned use using var virtual void volatile when where while with yield'.split(
    ' ',
  ),
);

let rig: AppRig;
before(async () => {
  rig = await startAppRig();
});
after(() => rig.stop());

async function download(path: string, init?: RequestInit): Promise<Response> {
  return fetch(`${rig.baseUrl}${path}`, init);
}

/** The files in the archive of the running service, by path. */
async function filesInArchive(): Promise<Readonly<Record<string, string>>> {
  const files = unzipSync(new Uint8Array(await (await download('/contract.zip')).arrayBuffer()));
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [path, Buffer.from(content).toString()]));
}

function filesIn(descriptorSet: Uint8Array): ReadonlyMap<string, FileDescriptorProto> {
  return new Map(fromBinary(FileDescriptorSetSchema, descriptorSet).file.map((file) => [file.name, file]));
}

describe('the contract for clients', () => {
  it('the contract for clients: is public, and is cached and answers HEAD as the OpenAPI document does', async () => {
    const document = await download('/openapi.json');
    for (const path of ['/contract.zip', '/contract.binpb']) {
      const answer = await download(path);
      assert.equal(answer.status, 200, path);
      for (const name of ['cache-control', 'vary', 'x-content-type-options'])
        assert.equal(answer.headers.get(name), document.headers.get(name));
      const head = await download(path, { method: 'HEAD' });
      assert.equal(head.status, 200);
      assert.equal(head.headers.get('content-type'), answer.headers.get('content-type'));
      assert.equal((await head.arrayBuffer()).byteLength, 0);
      const again = await download(path, { headers: { 'if-none-match': String(answer.headers.get('etag')) } });
      assert.equal(again.status, 304);
      const docs = await (await download('/docs')).text();
      assert.ok(docs.includes(`href="${path}"`));
    }
  });

  it('the contract for clients: imports only google/protobuf, and has neither extensions nor options of ours', async () => {
    const files = filesIn(new Uint8Array(await (await download('/contract.binpb')).arrayBuffer()));
    assert.ok(files.has('relayer/v1/transaction_service.proto'));
    assert.ok(files.has('relayer/v1/errors.proto'));
    for (const [name, file] of files) {
      assert.match(name, /^(?:relayer\/v1|google\/protobuf)\//);
      for (const imported of file.dependency) assert.ok(files.has(imported), imported);
      assert.equal(file.syntax, 'proto3', name);
      assert.deepEqual(file.extension, []);
      // Options of ours would be unknown fields here.
      assert.ok(!hasUnknownFields(file), name);
    }
  });

  it('the contract for clients: has no field that only clients of REST need', () => {
    const fields = [...filesIn(readFileSync('gen/contract/contract.binpb')).values()].flatMap(({ messageType }) =>
      messageType.flatMap((message) => message.field.map(({ name }) => `${message.name}.${name}`)),
    );
    assert.ok(fields.includes('JsonRpcError.message') && fields.includes('EvmPolicies.max_in_flight') && fields.includes('WasmSource.hex'));
    for (const leftover of ['EvmPolicies.private_transactions', 'JsonRpcError.description', 'WasmSource.type'])
      assert.ok(!fields.includes(leftover), leftover);
  });

  it('the contract for clients: names no field by a word that a language reserves', () => {
    const names = [...filesIn(readFileSync('gen/contract/contract.binpb')).values()]
      .filter((file) => file.package === 'relayer.v1')
      .flatMap(({ messageType }) => messageType.flatMap((message) => message.field.map(({ name }) => name)));
    assert.ok(names.length > 100);
    assert.deepEqual([...new Set(names.filter((name) => reservedWords.has(name)))], []);
  });

  it('the contract for clients: sets the package options of every language', async () => {
    for (const [name, { options }] of filesIn(readFileSync('gen/contract/contract.binpb'))) {
      if (!name.startsWith('relayer/')) continue;
      assert.equal(options?.javaPackage, 'com.relayer.v1', name);
      assert.equal(options.javaMultipleFiles, true);
      assert.equal(options.csharpNamespace, 'Relayer.V1');
      assert.equal(options.goPackage, 'relayer/v1;relayerv1');
      assert.equal(options.phpNamespace, 'Relayer\\V1');
      assert.equal(options.rubyPackage, 'Relayer::V1');
      assert.equal(options.swiftPrefix, 'RelayerV1');
    }
  });

  it('the contract for clients: compiles with protoc to the descriptors that the service hands out', {
    skip: skipWithout('protoc'),
  }, async () => {
    const files = await filesInArchive();
    const folder = await temporaryFolder(files);
    const paths = Object.keys(files);
    execFileSync('protoc', [`-I${folder}`, '--include_imports', `--descriptor_set_out=${folder}/all.binpb`, ...paths]);
    const compiled = filesIn(readFileSync(join(folder, 'all.binpb')));
    const handedOut = filesIn(new Uint8Array(await (await download('/contract.binpb')).arrayBuffer()));
    assert.deepEqual([...compiled.keys()].sort(), [...handedOut.keys()].sort());
    for (const path of paths) {
      const [ours, theirs] = [handedOut.get(path), compiled.get(path)];
      assert.ok(ours && theirs);
      assert.deepEqual(toJson(FileDescriptorProtoSchema, theirs), toJson(FileDescriptorProtoSchema, ours));
    }
  });

  it("the contract for clients: links with other definitions of google.api and google.rpc, and with an option of a company's own", {
    skip: skipWithout('protoc', python),
  }, async () => {
    const others = {
      'google/api/http.proto': 'syntax = "proto3"; package google.api; message HttpRule { string other = 99; }',
      'google/rpc/error_details.proto':
        'syntax = "proto3"; package google.rpc; message ErrorInfo { string other = 99; } message QuotaFailure {}',
      'house/options.proto':
        'syntax = "proto3"; package house; import "google/protobuf/descriptor.proto"; extend google.protobuf.MethodOptions { string owner = 51001; } extend google.protobuf.FieldOptions { string note = 51002; }',
    };
    const files = { ...others, ...(await filesInArchive()) };
    const folder = await temporaryFolder(files);
    const all = Object.keys(files);
    execFileSync('protoc', [`-I${folder}`, `--python_out=${folder}`, ...all]);
    const modules = all.map((path) => path.replace(/\.proto$/, '_pb2').replaceAll('/', '.'));
    // The installed package google has no google.api and no google.rpc.
    const program = `import google, importlib, sys
google.__path__.append(sys.argv[1] + "/google")
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]: importlib.import_module(name)
print(importlib.import_module("google.rpc.error_details_pb2").ErrorInfo.DESCRIPTOR.fields[0].name)`;
    const { stdout, stderr } = spawnSync(python, ['-c', program, folder, ...modules], { encoding: 'utf8' });
    assert.equal(stdout, 'other\n', stderr);
  });
});

function hasUnknownFields(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false;
  return '$unknown' in value || Object.values(value).some(hasUnknownFields);
}

function skipWithout(...commands: readonly string[]): string | false {
  const missing = commands.filter((command) => spawnSync(command, ['--version']).error !== undefined);
  return missing.length === 0 ? false : `${missing.join(' and ')} is not installed`;
}
