import { readFile } from 'node:fs/promises';
import { create, fromBinary, getExtension, hasExtension, isMessage, setExtension, toBinary } from '@bufbuild/protobuf';
import { FieldOptionsSchema, type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Plugin } from 'esbuild';
import { http as httpOption } from '../gen/google/api/annotations_pb.js';
import {
  FieldRulesSchema,
  field as fieldOption,
  message as messageOption,
  text as textOption,
  union as unionOption,
} from '../gen/relayer/rest/v1/options_pb.js';

/** The numbers of the options that the console reads: it writes calls as REST requests. */
const readOptions: ReadonlySet<number> = new Set(
  [httpOption, messageOption, fieldOption, unionOption, textOption].map(({ number }) => number),
);

/** Definitions of options. Files whose options are removed need not import them. */
const optionFiles = ['google/api/annotations.proto', 'relayer/rest/v1/options.proto'];
const optionImports = /file_(?:google_api_annotations|relayer_rest_v1_options)/;

/**
 * Writes the definitions in a form that compresses well, and without the options that are not read.
 *
 * @param withOptions the files whose options are read
 */
export function smallDefinitions(withOptions: RegExp): Plugin {
  return {
    name: 'small-definitions',
    setup({ onLoad }) {
      onLoad({ filter: /\/gen\/.*_pb\.ts$/ }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        const keepsOptions = withOptions.test(path);
        const contents = source.replace(/fileDesc\("([\w+/=]+)"(?:, \[([^\]]*)\])?/, (_, base64: string, imports = '') => {
          const file = fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, 'base64'));
          delete file.options;
          removeCustomOptions(file, keepsOptions ? readOptions : new Set());
          let names: string[] = imports === '' ? [] : imports.split(', ');
          if (!keepsOptions) {
            file.dependency = file.dependency.filter((name) => !optionFiles.includes(name));
            names = names.filter((name) => !optionImports.test(name));
          }
          // Repeated texts are invisible in base64, but not in the bytes themselves.
          const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file)).toString('latin1');
          return `fileDesc(/*@__PURE__*/ btoa(${JSON.stringify(bytes)}), [${names.join(', ')}]`;
        });
        return { contents, loader: 'ts' };
      });
    },
  };
}

/** Removes the options that are not protobuf's own from all elements of a definition, apart from those with these numbers; of the field options only the read keys stay. */
function removeCustomOptions(element: FileDescriptorProto | object, kept: ReadonlySet<number>): void {
  for (const [key, value] of Object.entries(element)) {
    if (key === 'options' && isMessage(value)) value.$unknown = value.$unknown?.filter(({ no }) => kept.has(no));
    if (isMessage(value, FieldOptionsSchema) && hasExtension(value, fieldOption)) {
      const { rpcOnly, name, tags, hex, ifMatch, length, maxLength } = getExtension(value, fieldOption);
      setExtension(value, fieldOption, create(FieldRulesSchema, { rpcOnly, name, tags, hex, ifMatch, length, maxLength }));
    }
    if (!Array.isArray(value)) continue;
    for (const item of value) if (typeof item === 'object' && item !== null) removeCustomOptions(item, kept);
  }
}

/** Parts of protobuf that a client can do without, and what their functions do instead. */
const parts = {
  // For a client that speaks only the binary format, although its transport could speak both.
  json: { filter: /@bufbuild\/protobuf\/dist\/esm\/(from|to)-json\.js$/, body: "throw new Error('the JSON format is left out')" },
  // For a client whose own code is all in TypeScript: it says which value has the wrong type.
  checks: { filter: /@bufbuild\/protobuf\/dist\/esm\/reflect\/reflect-check\.js$/, body: '' },
};

/** Leaves these parts out. */
export function withoutParts(names: readonly (keyof typeof parts)[]): Plugin {
  return {
    name: 'without-parts',
    setup({ onLoad }) {
      for (const { filter, body } of names.map((name) => parts[name])) {
        onLoad({ filter }, async ({ path }) => {
          const functions = [...(await readFile(path, 'utf8')).matchAll(/^export function (\w+)/gm)].map(([, name]) => name);
          return { contents: functions.map((name) => `export function ${name}() { ${body} }`).join('\n') };
        });
      }
    },
  };
}

/** Messages of `descriptor.proto` that no definition of ours contains after `smallDefinitions`. They stay, because others refer to them, but lose their fields. */
const emptied =
  /^(FileDescriptorSet|FileOptions|ExtensionRangeOptions|UninterpretedOption|FeatureSetDefaults|SourceCodeInfo|GeneratedCodeInfo)$/;

/** Shortens protobuf's own definition, which describes more than ours use. */
export const smallDescriptor: Plugin = {
  name: 'small-descriptor',
  setup({ onLoad }) {
    onLoad({ filter: /@bufbuild\/protobuf\/dist\/esm\/wkt\/google\/protobuf\/descriptor_pb\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      return {
        contents: source.replace(/boot\((\{.*\})\)/, (_, json: string) => {
          const file: { messageType: BootMessage[] } = JSON.parse(json);
          for (const message of file.messageType) if (emptied.test(message.name)) removeFields(message);
          return `boot(${JSON.stringify(file)})`;
        }),
      };
    });
  },
};

interface BootMessage {
  readonly name: string;
  field?: unknown[];
  readonly nestedType?: BootMessage[];
}

function removeFields(message: BootMessage): void {
  message.field = [];
  for (const nested of message.nestedType ?? []) removeFields(nested);
}
