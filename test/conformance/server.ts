import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { create, createFileRegistry, createRegistry, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ConnectError, type Interceptor } from '@connectrpc/connect';
import { createErrorInterceptor } from '../../src/api/contract/errors.js';
import type { MethodPlan } from '../../src/api/contract/method-plan.js';
import { maxBodyBytes } from '../../src/api/contract/shared-errors.js';
import { createHandler } from '../../src/api/handler.js';
import { createCors } from '../../src/api/http/cors.js';
import { createServer } from '../../src/api/http/server.js';
import { compileRest, createRestGateway } from '../../src/api/rest/gateway.js';
import { DomainError } from '../../src/core/errors/errors.js';
import { conformanceService, suiteErrors } from './service.js';

/*
 * The server that the suite's runner starts once per combination of protocol, HTTP version and TLS. It reads its settings from standard input
 * and writes its address to standard output, each as a message behind its length.
 *
 *     node dist/test/conformance/server.js <descriptor set of the suite>
 */

const packageName = 'connectrpc.conformance.v1';
const [imageFile = ''] = process.argv.slice(2);
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(imageFile)));

interface Wanted {
  readonly useTls: boolean;
  readonly messageReceiveLimit: number;
  readonly serverCreds?: { readonly cert: Uint8Array; readonly key: Uint8Array };
}

const wanted = fromBinary(messageOf('ServerCompatRequest'), await readSized()) as unknown as Wanted;
const creds = wanted.useTls ? wanted.serverCreds : undefined;
const text = new TextDecoder();
const server = startable();
const { host, port } = await server.listen();
writeSized(messageOf('ServerCompatResponse'), { host, port, ...(creds === undefined ? {} : { pemCert: creds.cert }) });

function startable() {
  const service = registry.getService(`${packageName}.ConformanceService`);
  if (service === undefined) throw new Error('the suite defines no ConformanceService');
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  /** Methods of ours declare their plan in options, which the suite's do not have. */
  const plans = service.methods.map(
    (method): MethodPlan => ({
      method,
      rpcPath: `/${service.typeName}/${method.name}`,
      label: `${service.name}.${method.name}`,
      scope: 'public',
      rateLimited: false,
      maxBodyBytes: wanted.messageReceiveLimit || maxBodyBytes,
      idempotent: false,
      answersSecret: false,
      writes: false,
      relayer: 'any',
      relayerNotFoundText: () => 'Not found',
      reasons: [],
      http: null,
    }),
  );
  const newRequestId = () => 'conformance';
  const handler = createHandler({
    plans,
    rest: createRestGateway({
      compiled: compileRest(plans),
      served: [],
      interceptors: [],
      shutdownSignal: new AbortController().signal,
      networkTypeOf: () => undefined,
      log,
    }),
    services: (router) => router.service(service, conformanceService(registry) as never),
    interceptors: [showSuiteErrors, createErrorInterceptor({ log })],
    pages: [],
    authenticate: () => undefined,
    rateLimit: null,
    brakeWrongKeys: () => undefined,
    addressOf: () => null,
    cors: createCors(new Set()),
    newRequestId,
    auditRefusal: () => undefined,
    shutdownSignal: new AbortController().signal,
    log,
    jsonRegistry: createRegistry(registry),
  });
  return createServer({
    host: '127.0.0.1',
    port: 0,
    tls: creds === undefined ? null : { certPem: text.decode(creds.cert), keyPem: text.decode(creds.key) },
    handler,
    newRequestId,
    log,
    shutdownDeadlineMs: 100,
  });
}

/**
 * Shows the suite's client the errors that it asked for, whose codes and details ours never have, and ours without the details that the
 * suite does not expect.
 */
function showSuiteErrors(next: Parameters<Interceptor>[0]): ReturnType<Interceptor> {
  const shown = (error: unknown) => {
    for (let cause = error; cause instanceof ConnectError || cause instanceof DomainError; cause = cause.cause) {
      if (!suiteErrors.has(cause)) continue;
      // The suite's details are encoded already; the service adds the request id to calls that are canceled.
      if (cause instanceof ConnectError) cause.details = cause.details.filter((detail) => 'type' in detail);
      return cause;
    }
    if (error instanceof ConnectError) error.details = [];
    return error;
  };
  async function* withShown<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* messages;
    } catch (error) {
      throw shown(error);
    }
  }
  return async (request) => {
    try {
      const response = await next(request);
      return response.stream ? { ...response, message: withShown(response.message) } : response;
    } catch (error) {
      throw shown(error);
    }
  };
}

function messageOf(name: string): DescMessage {
  const schema = registry.getMessage(`${packageName}.${name}`);
  if (schema === undefined) throw new Error(`the suite defines no ${name}`);
  return schema;
}

async function readSized(): Promise<Uint8Array> {
  let received = Buffer.alloc(0);
  while (received.length < 4 || received.length < 4 + received.readUInt32BE()) {
    const [chunk] = await once(process.stdin, 'data');
    received = Buffer.concat([received, chunk]);
  }
  return received.subarray(4, 4 + received.readUInt32BE());
}

function writeSized(schema: DescMessage, init: Record<string, unknown>): void {
  const bytes = toBinary(schema, create(schema, init));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  process.stdout.write(Buffer.concat([length, bytes]));
}
