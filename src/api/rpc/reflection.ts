import { type DescExtension, type DescFile, type DescService, toBinary } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, type ServiceImpl } from '@connectrpc/connect';
import type { ServerReflection, ServerReflectionRequest } from '../../../gen/grpc/reflection/v1/reflection_pb.js';

type Question = ServerReflectionRequest['messageRequest'];

/** The descriptors that clients without stubs look up, indexed once. */
interface Index {
  readonly serviceNames: readonly string[];
  readonly files: ReadonlyMap<string, DescFile>;
  /** The file that defines a symbol: messages, enumerations, extensions, services and their methods, by full name. */
  readonly fileOfSymbol: ReadonlyMap<string, DescFile>;
  readonly messageNames: ReadonlySet<string>;
  readonly extensions: readonly DescExtension[];
}

/** Implements `grpc.reflection.v1.ServerReflection`, which `buf curl`, grpcurl and Postman query before they call. */
export function createReflection(services: readonly DescService[]): ServiceImpl<typeof ServerReflection> {
  const index = indexOf(services);
  return {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield { validHost: request.host, originalRequest: request, messageResponse: answer(index, request.messageRequest) };
      }
    },
  };
}

function indexOf(services: readonly DescService[]): Index {
  const files = new Map<string, DescFile>();
  for (const service of services) addWithImports(files, service.file);
  const fileOfSymbol = new Map<string, DescFile>();
  const messageNames = new Set<string>();
  const extensions: DescExtension[] = [];
  for (const file of files.values()) {
    for (const type of nestedTypes(file)) {
      fileOfSymbol.set(type.typeName, file);
      if (type.kind === 'message') messageNames.add(type.typeName);
      if (type.kind === 'extension') extensions.push(type);
      if (type.kind === 'service') for (const method of type.methods) fileOfSymbol.set(`${type.typeName}.${method.name}`, file);
    }
  }
  return { serviceNames: services.map((service) => service.typeName), files, fileOfSymbol, messageNames, extensions };
}

function addWithImports(files: Map<string, DescFile>, file: DescFile): void {
  const name = file.proto.name;
  if (files.has(name)) return;
  files.set(name, file);
  for (const imported of file.dependencies) addWithImports(files, imported);
}

function answer(index: Index, question: Question) {
  switch (question.case) {
    case 'listServices':
      return { case: 'listServicesResponse' as const, value: { service: index.serviceNames.map((name) => ({ name })) } };
    case 'fileByFilename':
      return fileAnswer(index.files.get(question.value));
    case 'fileContainingSymbol':
      return fileAnswer(index.fileOfSymbol.get(question.value));
    case 'fileContainingExtension': {
      const { containingType, extensionNumber } = question.value;
      const found = index.extensions.find(({ extendee, number }) => extendee.typeName === containingType && number === extensionNumber);
      return fileAnswer(found?.file);
    }
    case 'allExtensionNumbersOfType': {
      const baseTypeName = question.value;
      if (!index.messageNames.has(baseTypeName)) return failure(Code.NotFound, 'not found');
      const extensionNumber = index.extensions.filter(({ extendee }) => extendee.typeName === baseTypeName).map(({ number }) => number);
      return { case: 'allExtensionNumbersResponse' as const, value: { baseTypeName, extensionNumber } };
    }
    case undefined:
      return failure(Code.InvalidArgument, 'message_request must be set to a supported reflection request');
  }
}

function fileAnswer(file: DescFile | undefined) {
  if (file === undefined) return failure(Code.NotFound, 'not found');
  const files = new Map<string, DescFile>();
  addWithImports(files, file);
  const fileDescriptorProto = [...files.values()].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: 'fileDescriptorResponse' as const, value: { fileDescriptorProto } };
}

function failure(errorCode: Code, errorMessage: string) {
  return { case: 'errorResponse' as const, value: { errorCode, errorMessage } };
}
