import { clearField, clone, createRegistry, type DescFile, isMessage, type Message } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import {
  FieldOptionsSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  file_google_protobuf_descriptor,
} from '@bufbuild/protobuf/wkt';

/**
 * The contract for clients is the definitions without the parts that only the service reads. A client's process may hold other definitions
 * of `google.api`, and other options with our numbers; some languages refuse to start with both.
 */
const servicePaths = ['relayer/rest/', 'google/api/'];

const descriptors = createRegistry(file_google_protobuf_descriptor);

/** Returns the imports of a file in the contract for clients. */
export function clientImportsOf(file: DescFile): readonly DescFile[] {
  return file.dependencies.filter(({ proto }) => isForClients(proto.name));
}

/**
 * Returns a file as clients get it: the same messages, without our options and without `debug_redact`, which protoc before 22 does not
 * know.
 */
export function clientFileOf(file: FileDescriptorProto): FileDescriptorProto {
  const copy = clone(FileDescriptorProtoSchema, file);
  copy.dependency = copy.dependency.filter(isForClients);
  removeServiceOptions(copy);
  return copy;
}

function isForClients(path: string): boolean {
  return !servicePaths.some((start) => path.startsWith(start));
}

function removeServiceOptions(element: Message): void {
  const properties = element as unknown as Record<string, unknown>;
  for (const [name, value] of Object.entries(properties)) {
    for (const part of Array.isArray(value) ? value : [value]) {
      if (!isMessage(part)) continue;
      if (name !== 'options') removeServiceOptions(part);
      else if (isEmptyWithoutOurs(part)) delete properties[name];
    }
  }
}

/** Extensions are unknown fields of the options here, because no registry knew them when the file was read. */
function isEmptyWithoutOurs(options: Message): boolean {
  delete options.$unknown;
  if (isMessage(options, FieldOptionsSchema)) clearField(options, FieldOptionsSchema.field.debugRedact);
  const desc = descriptors.getMessage(options.$typeName);
  if (desc === undefined) throw new Error(`${options.$typeName} is not an options message`);
  const reflected = reflect(desc, options);
  return desc.fields.every((field) => !reflected.isSet(field));
}
