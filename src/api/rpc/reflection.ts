import { type DescFile, type DescService, toBinary } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, type ConnectRouter } from '@connectrpc/connect';
import { file_google_rpc_error_details } from '../../../gen/google/rpc/error_details_pb.js';
import { ServerReflection, type ServerReflectionRequest } from '../../../gen/grpc/reflection/v1/reflection_pb.js';
import {
  type ServerReflectionRequest as FormerRequest,
  ServerReflection as FormerServerReflection,
} from '../../../gen/grpc/reflection/v1alpha/reflection_pb.js';
import { file_relayer_v1_errors } from '../../../gen/relayer/v1/errors_pb.js';
import { clientFileOf, clientImportsOf } from '../contract/client-contract.js';

/** Both versions of the reflection service, which have the same messages. Some clients know only the former one. */
export const reflectionServices: readonly DescService[] = [ServerReflection, FormerServerReflection];

/** The files that define the details of errors. No service imports them. */
const errorFiles: readonly DescFile[] = [file_google_rpc_error_details, file_relayer_v1_errors];

type Request = ServerReflectionRequest | FormerRequest;

/** The descriptors that clients without stubs look up, indexed once. */
interface Index {
  readonly serviceNames: readonly string[];
  readonly files: ReadonlyMap<string, DescFile>;
  /** The file that defines a symbol: messages, enumerations, services and their methods, by full name. */
  readonly fileOfSymbol: ReadonlyMap<string, DescFile>;
  readonly messageNames: ReadonlySet<string>;
}

/**
 * Serves reflection, which `buf curl`, grpcurl and Postman query before they call. It shows the contract for clients: the files of
 * `services` and of errors, with their imports.
 */
export function serveReflection(router: ConnectRouter, services: readonly DescService[]): void {
  const index = indexOf(services);
  router.service(ServerReflection, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) yield { ...answered(index, request), originalRequest: request };
    },
  });
  router.service(FormerServerReflection, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) yield { ...answered(index, request), originalRequest: request };
    },
  });
}

function indexOf(services: readonly DescService[]): Index {
  const files = new Map<string, DescFile>();
  for (const file of [...services.map((service) => service.file), ...errorFiles]) addWithImports(files, file);
  const fileOfSymbol = new Map<string, DescFile>();
  const messageNames = new Set<string>();
  for (const file of files.values()) {
    for (const type of nestedTypes(file)) {
      fileOfSymbol.set(type.typeName, file);
      if (type.kind === 'message') messageNames.add(type.typeName);
      if (type.kind === 'service') for (const method of type.methods) fileOfSymbol.set(`${type.typeName}.${method.name}`, file);
    }
  }
  return { serviceNames: services.map((service) => service.typeName), files, fileOfSymbol, messageNames };
}

function addWithImports(files: Map<string, DescFile>, file: DescFile): void {
  const name = file.proto.name;
  if (files.has(name)) return;
  files.set(name, file);
  for (const imported of clientImportsOf(file)) addWithImports(files, imported);
}

function answered(index: Index, { host, messageRequest }: Request) {
  return { validHost: host, messageResponse: answer(index, messageRequest) };
}

function answer(index: Index, question: Request['messageRequest']) {
  switch (question.case) {
    case 'listServices':
      return { case: 'listServicesResponse' as const, value: { service: index.serviceNames.map((name) => ({ name })) } };
    case 'fileByFilename':
      return fileAnswer(index.files.get(question.value));
    case 'fileContainingSymbol':
      return fileAnswer(index.fileOfSymbol.get(question.value));
    case 'fileContainingExtension':
      // The contract for clients has no extensions.
      return failure(Code.NotFound, 'not found');
    case 'allExtensionNumbersOfType': {
      const baseTypeName = question.value;
      if (!index.messageNames.has(baseTypeName)) return failure(Code.NotFound, 'not found');
      return { case: 'allExtensionNumbersResponse' as const, value: { baseTypeName, extensionNumber: [] } };
    }
    case undefined:
      return failure(Code.InvalidArgument, 'message_request must be set to a supported reflection request');
  }
}

function fileAnswer(file: DescFile | undefined) {
  if (file === undefined) return failure(Code.NotFound, 'not found');
  const files = new Map<string, DescFile>();
  addWithImports(files, file);
  const fileDescriptorProto = [...files.values()].map(({ proto }) => toBinary(FileDescriptorProtoSchema, clientFileOf(proto)));
  return { case: 'fileDescriptorResponse' as const, value: { fileDescriptorProto } };
}

function failure(errorCode: Code, errorMessage: string) {
  return { case: 'errorResponse' as const, value: { errorCode, errorMessage } };
}
