import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { fromBinary, type MessageInitShape, toJson } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import {
  ServerReflection,
  type ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from '../../../gen/grpc/reflection/v1/reflection_pb.js';
import { type Rig, signingKey, startRig, transports } from '../../support/api-rig.js';

let rig: Rig;
let origin: string;
before(async () => {
  rig = await startRig({ notifications: { getNotification: ({ notificationId }) => ({ notification: { id: notificationId } }) } });
  origin = `http://127.0.0.1:${rig.port}`;
});
after(() => rig.stop());

type Question = MessageInitShape<typeof ServerReflectionRequestSchema>['messageRequest'];

async function ask(...questions: Question[]): Promise<ServerReflectionResponse['messageResponse'][]> {
  const transport = transports['gRPC over HTTP/2'];
  assert.ok(transport);
  async function* requests() {
    for (const messageRequest of questions) yield messageRequest === undefined ? {} : { messageRequest };
  }
  const answers: ServerReflectionResponse['messageResponse'][] = [];
  const responses = createClient(ServerReflection, transport(origin)).serverReflectionInfo(requests(), {
    // Any valid key will do.
    headers: { authorization: `Bearer ${signingKey}` },
  });
  for await (const { messageResponse } of responses) answers.push(messageResponse);
  return answers;
}

test('reflection: lists all services', async () => {
  const [answer] = await ask({ case: 'listServices', value: '*' });
  assert.equal(answer?.case, 'listServicesResponse');
  assert.deepEqual(
    answer.value.service.map(({ name }) => name),
    [
      'relayer.v1.NotificationService',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
    ],
  );
});

test('reflection: returns files with their imports, by name or by symbol', async () => {
  const answers = await ask(
    { case: 'fileByFilename', value: 'relayer/v1/notification_service.proto' },
    { case: 'fileContainingSymbol', value: 'relayer.v1.NotificationService' },
    { case: 'fileContainingSymbol', value: 'relayer.v1.NotificationService.GetNotification' },
    { case: 'fileContainingSymbol', value: 'relayer.v1.DeliveryStatus' },
    { case: 'fileContainingSymbol', value: 'google.rpc.ErrorInfo' },
    { case: 'fileContainingSymbol', value: 'relayer.v1.ErrorReason' },
  );
  assert.equal(answers.length, 6);
  const firstNames = answers.map((answer) => {
    assert.equal(answer.case, 'fileDescriptorResponse');
    const files = answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
    const [first] = files;
    assert.ok(first);
    const names = new Set(files.map((file) => file.name));
    for (const file of files) for (const name of file.dependency) assert.ok(names.has(name), name);
    return first.name;
  });
  assert.deepEqual(firstNames, [
    ...Array(4).fill('relayer/v1/notification_service.proto'),
    'google/rpc/error_details.proto',
    'relayer/v1/errors.proto',
  ]);
});

test('reflection: returns the files of the contract for clients', async () => {
  const contract = fromBinary(FileDescriptorSetSchema, readFileSync('gen/contract/contract.binpb'));
  const wanted = new Map(contract.file.map((file) => [file.name, toJson(FileDescriptorProtoSchema, file)]));
  const [answer] = await ask({ case: 'fileByFilename', value: 'relayer/v1/notification_service.proto' });
  assert.equal(answer?.case, 'fileDescriptorResponse');
  const files = answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  const names = files.map(({ name }) => name);
  assert.ok(names.includes('relayer/v1/common.proto'));
  for (const name of names) assert.match(name, /^(?:relayer\/v1|google\/protobuf)\//);
  const ours = files.filter((file) => file.package === 'relayer.v1');
  for (const file of ours) assert.deepEqual(toJson(FileDescriptorProtoSchema, file), wanted.get(file.name), file.name);
});

test('reflection: answers unknown names with an error and keeps the stream open', async () => {
  const answers = await ask(
    { case: 'fileByFilename', value: 'nothing.proto' },
    { case: 'fileContainingSymbol', value: '__proto__' },
    { case: 'fileContainingExtension', value: { containingType: 'google.protobuf.MethodOptions', extensionNumber: 1 } },
    { case: 'allExtensionNumbersOfType', value: 'nothing' },
    undefined,
    { case: 'allExtensionNumbersOfType', value: 'relayer.v1.Notification' },
  );
  const codes = answers.slice(0, 5).map((answer) => (answer.case === 'errorResponse' ? answer.value.errorCode : answer.case));
  assert.deepEqual(codes, [Code.NotFound, Code.NotFound, Code.NotFound, Code.NotFound, Code.InvalidArgument]);
  const last = answers[5];
  assert.equal(last?.case, 'allExtensionNumbersResponse');
  assert.deepEqual(last.value.extensionNumber, []);
});

test('reflection: requires a key', async () => {
  const transport = transports['gRPC over HTTP/2'];
  assert.ok(transport);
  const call = async () => {
    for await (const _ of createClient(ServerReflection, transport(origin)).serverReflectionInfo((async function* () {})())) assert.fail();
  };
  await assert.rejects(call(), (error) => error instanceof ConnectError && error.code === Code.Unauthenticated);
});

test('reflection: lets buf curl find a method and call it', async () => {
  const { stdout } = await promisify(execFile)('node_modules/.bin/buf', [
    'curl',
    '--protocol=grpc',
    '--http2-prior-knowledge',
    '--reflect',
    '--reflect-protocol=grpc-v1',
    '--reflect-header',
    `authorization: Bearer ${signingKey}`,
    '-d',
    '{}',
    `${origin}/grpc.health.v1.Health/Check`,
  ]);
  assert.deepEqual(JSON.parse(stdout), { status: 'SERVING' });
});

test('reflection: an open stream ends with UNAVAILABLE when the service stops, and does not hold it', async () => {
  const stopping = await startRig();
  const transport = transports['gRPC over HTTP/2'];
  assert.ok(transport);
  let endRequests: () => void = () => undefined;
  async function* requests() {
    yield { messageRequest: { case: 'listServices' as const, value: '*' } };
    await new Promise<void>((resolve) => {
      endRequests = resolve;
    });
  }
  const responses = createClient(ServerReflection, transport(`http://127.0.0.1:${stopping.port}`)).serverReflectionInfo(requests(), {
    headers: { authorization: `Bearer ${signingKey}` },
  });
  const answers = responses[Symbol.asyncIterator]();
  assert.equal((await answers.next()).done, false);
  const ended = assert.rejects(answers.next(), (error) => {
    assert.equal(ConnectError.from(error).code, Code.Unavailable);
    assert.equal(ConnectError.from(error).rawMessage, 'the service is stopping');
    return true;
  });
  const startedAtMs = performance.now();
  await stopping.stop();
  await ended;
  endRequests();
  // The rig's deadline for a shutdown is 30 s.
  assert.ok(performance.now() - startedAtMs < 10_000);
});
