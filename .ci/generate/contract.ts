import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { fromBinary, toJson } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { zipSync } from 'fflate';
import { clientFileOf } from '../../src/api/contract/client-contract.js';
import { clientProto } from './client-proto.js';
import { withReasonRules } from './reasons-table.js';

/*
 * Writes gen/contract: the definitions for clients with their comments, an archive of them, and their descriptor set. Fails if they do not
 * describe the same messages as proto/. A part of `npm run generate`.
 */

const source = 'proto/relayer/v1';
const contract = 'gen/contract';
const target = `${contract}/relayer/v1`;

rmSync(contract, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
for (const name of readdirSync(source)) writeFileSync(`${target}/${name}`, clientProto(readFileSync(`${source}/${name}`, 'utf8')));
buf('format', '--write', contract);
writeFileSync(`${target}/errors.proto`, withReasonRules(readFileSync(`${target}/errors.proto`, 'utf8')));

const image = buf('build', contract, '--as-file-descriptor-set', '--exclude-source-info', '-o', '-');
const written = ourFilesIn(image);
const wanted = ourFilesIn(buf('build', 'proto', '--as-file-descriptor-set', '--exclude-source-info', '-o', '-')).map(clientFileOf);
if (!isDeepStrictEqual(written.map(jsonOf), wanted.map(jsonOf)))
  throw new Error(`${contract} does not describe the same messages as proto/`);
writeFileSync(`${contract}/contract.binpb`, image);

const files = readdirSync(target)
  .sort()
  .map((name) => [`relayer/v1/${name}`, readFileSync(`${target}/${name}`)]);
// The earliest time that an archive can hold, so that the same definitions always give the same bytes.
writeFileSync(`${contract}/contract.zip`, zipSync(Object.fromEntries(files), { mtime: new Date(1980, 0, 1) }));

function buf(...args: readonly string[]): Buffer {
  return execFileSync('buf', args, { maxBuffer: 2 ** 26 });
}

function ourFilesIn(descriptorSet: Uint8Array): FileDescriptorProto[] {
  return fromBinary(FileDescriptorSetSchema, descriptorSet).file.filter((file) => file.package === 'relayer.v1');
}

function jsonOf(file: FileDescriptorProto): unknown {
  return toJson(FileDescriptorProtoSchema, file);
}
