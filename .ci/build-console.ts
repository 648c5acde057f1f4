import { readFile } from 'node:fs/promises';
import { create, fromBinary, getExtension, hasExtension, isMessage, setExtension, toBinary } from '@bufbuild/protobuf';
import { FieldOptionsSchema, type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { build, type Plugin } from 'esbuild';
import { comments } from '../gen/comments.js';
import { http as httpOption } from '../gen/google/api/annotations_pb.js';
import {
  FieldRulesSchema,
  field as fieldOption,
  message as messageOption,
  text as textOption,
  union as unionOption,
} from '../gen/relayer/rest/v1/options_pb.js';

// Bundles the console for browsers: dist/console/console.js and console.css. Transformations keep it small; none changes what it does.

/** The definitions whose options the console reads: it writes their calls as REST requests, to copy, and shows their limits and names. */
const withOptions = /\/(transaction_service|signing_service|api_key_service|evm|stellar|solana)_pb\.ts$/;

/** The numbers of those options. */
const readOptions: ReadonlySet<number> = new Set(
  [httpOption, messageOption, fieldOption, unionOption, textOption].map(({ number }) => number),
);

/** Writes the definitions in a form that compresses well, and without the options that the console does not read. */
const smallDefinitions: Plugin = {
  name: 'small-definitions',
  setup({ onLoad }) {
    onLoad({ filter: /\/gen\/.*_pb\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const contents = source.replace(/fileDesc\("([\w+/=]+)"/, (_, base64: string) => {
        const file = fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, 'base64'));
        delete file.options;
        removeCustomOptions(file, withOptions.test(path) ? readOptions : new Set());
        // Repeated texts are invisible in base64, but not in the bytes themselves.
        const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file)).toString('latin1');
        return `fileDesc(/*@__PURE__*/ btoa(${JSON.stringify(bytes)})`;
      });
      return { contents, loader: 'ts' };
    });
  },
};

/** The messages and enums that forms are made from: their comments are the help. */
const inForms =
  /^relayer\.v1\.((Create(Relayer|Signer|Notification|ApiKey)|Sign(Data|TypedData)|(Stellar|Solana)Sign|(Evm|Stellar|Solana)Transaction)Request|(Evm|Stellar|Solana)Policies|MemoSpec|PaymentOperation|RpcUrl|ApiKeyScope)\.(?!idempotency_key)\w+$/;

/** Keeps the comments that forms show. */
const formComments: Plugin = {
  name: 'form-comments',
  setup({ onLoad }) {
    onLoad({ filter: /\/gen\/comments\.ts$/ }, () => {
      const kept = Object.entries(comments).filter(([name]) => inForms.test(name));
      return { contents: `export const comments = ${JSON.stringify(Object.fromEntries(kept))};` };
    });
  },
};

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

/** Parts of protobuf that the console never needs, and what their functions do instead. */
const leftOut = [
  // The console speaks only the binary format, but its transport could speak both.
  { filter: /@bufbuild\/protobuf\/dist\/esm\/(from|to)-json\.js$/, body: "throw new Error('the JSON format is left out')" },
  // Says which value has the wrong type, which TypeScript has excluded.
  { filter: /@bufbuild\/protobuf\/dist\/esm\/reflect\/reflect-check\.js$/, body: '' },
];

/** Leaves these parts out. */
const withoutUnused: Plugin = {
  name: 'without-unused',
  setup({ onLoad }) {
    for (const { filter, body } of leftOut) {
      onLoad({ filter }, async ({ path }) => {
        const names = [...(await readFile(path, 'utf8')).matchAll(/^export function (\w+)/gm)].map(([, name]) => name);
        return { contents: names.map((name) => `export function ${name}() { ${body} }`).join('\n') };
      });
    }
  },
};

/** Messages of `descriptor.proto` that no definition of ours contains after `smallDefinitions`. They stay, because others refer to them, but lose their fields. */
const emptied =
  /^(FileDescriptorSet|FileOptions|ExtensionRangeOptions|UninterpretedOption|FeatureSetDefaults|SourceCodeInfo|GeneratedCodeInfo)$/;

/** Shortens protobuf's own definition, which describes more than ours use. */
const smallDescriptor: Plugin = {
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

await build({
  entryPoints: ['src/console/main.tsx', 'src/console/style/main.css'],
  entryNames: 'console',
  outdir: 'dist/console',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'transform',
  jsxFactory: 'jsxElement',
  jsxFragment: 'jsxFragment',
  inject: ['src/console/jsx.ts'],
  // Instead of src/console/tsconfig.json, whose form of JSX it would use.
  tsconfigRaw: {},
  logLevel: 'warning',
  plugins: [smallDefinitions, formComments, smallDescriptor, withoutUnused],
});
