import { create, type DescField } from '@bufbuild/protobuf';
import { useState } from 'preact/hooks';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import {
  EvmSignRequestSchema,
  type SignDataRequest,
  SignDataRequestSchema,
  type SignedTransaction,
  type SignTransactionRequest,
  SignTransactionRequestSchema,
  type SignTypedDataRequest,
  SignTypedDataRequestSchema,
  SolanaSignRequestSchema,
  StellarSignRequestSchema,
} from '../../../gen/relayer/v1/signing_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { inputOf, pathsOf } from '../model/form.js';
import { Button } from '../parts/button.js';
import { CopyButton } from '../parts/copy.js';
import { CopyAsButton } from '../parts/copy-as.js';
import { FailureNote } from '../parts/failure-note.js';
import { Form } from '../parts/form.js';
import { Segments, TextArea, TextInput } from '../parts/inputs.js';
import { useAction } from '../parts/use-call.js';
import { useDraft } from '../parts/use-draft.js';
import { once, signing } from '../service/clients.js';
import { RelayerFrame } from './relayer-frame.js';
import { ByNetwork } from './send.js';

/** Signs with the key of a relayer, without sending anything. */
export function SignView({ relayerId }: { readonly relayerId: string }) {
  const typed = useDraft<Typed>({});
  return (
    <RelayerFrame relayerId={relayerId} tab="sign" title="Sign">
      <ByNetwork relayerId={relayerId}>
        {({ networkType }) => {
          if (networkType === NetworkType.EVM) return <EvmSign relayerId={relayerId} typed={typed} />;
          return (
            <SignForm key={networkType} relayerId={relayerId} typed={typed} way={networkType === NetworkType.STELLAR ? envelope : wire} />
          );
        }}
      </ByNetwork>
    </RelayerFrame>
  );
}

/** A part of a signature, with its name. */
type Parts = readonly (readonly [name: string, value: string])[];

/** What was typed, by the names of the fields of all ways, and what changes it. */
type Typed = Readonly<Record<string, string>>;
interface SignProperties {
  readonly relayerId: string;
  readonly typed: readonly [Typed, (change: Typed) => void];
}

type Request = SignDataRequest | SignTypedDataRequest | SignTransactionRequest;

/** One thing to sign: its fields, with a label if it is not their name and their number of lines, and what they are for. */
interface Way {
  readonly fields: readonly (readonly [desc: DescField, label?: string])[];
  readonly rows?: number;
  /** Before the paths of the service's field errors. */
  readonly prefix?: string;
  /** Returns the request of what was typed, by the fields' names, and the call that signs it. */
  readonly request: (relayerId: string, typed: Typed) => { readonly request: Request; sign(): Promise<Parts> };
}

const message: Way = {
  fields: [[SignDataRequestSchema.field.message]],
  rows: 4,
  request: (relayerId, typed) => {
    const request = create(SignDataRequestSchema, { relayerId, ...typed });
    return { request, sign: async () => signatureParts((await signing.signData(request, once)).signature) };
  },
};

const typedData: Way = {
  fields: [[SignTypedDataRequestSchema.field.domainSeparator], [SignTypedDataRequestSchema.field.hashStructMessage, 'Struct hash']],
  request: (relayerId, typed) => {
    const request = create(SignTypedDataRequestSchema, { relayerId, ...trimmed(typed) });
    return { request, sign: async () => signatureParts((await signing.signTypedData(request, once)).signature) };
  },
};

const envelope: Way = {
  fields: [[StellarSignRequestSchema.field.unsignedXdr, 'Transaction envelope']],
  rows: 6,
  prefix: 'stellar.',
  request: (relayerId, typed) => transactionToSign(relayerId, { case: 'stellar', value: create(StellarSignRequestSchema, trimmed(typed)) }),
};

const wire: Way = {
  fields: [[SolanaSignRequestSchema.field.transaction]],
  rows: 6,
  prefix: 'solana.',
  request: (relayerId, typed) => transactionToSign(relayerId, { case: 'solana', value: create(SolanaSignRequestSchema, trimmed(typed)) }),
};

const serialized: Way = {
  fields: [[EvmSignRequestSchema.field.unsignedTransaction]],
  rows: 6,
  prefix: 'evm.',
  request: (relayerId, typed) => transactionToSign(relayerId, { case: 'evm', value: create(EvmSignRequestSchema, trimmed(typed)) }),
};

function trimmed(typed: Typed): Typed {
  return Object.fromEntries(Object.entries(typed).map(([name, text]) => [name, text.trim()]));
}

function signedForm(signed: Extract<SignedTransaction['network'], { readonly value: unknown }>): readonly [string, string] {
  if (signed.case === 'stellar') return ['signed envelope', signed.value.signedXdr];
  return ['signed transaction', signed.case === 'evm' ? signed.value.signedTransaction : signed.value.transaction];
}

function transactionToSign(relayerId: string, transaction: SignTransactionRequest['transaction']) {
  const request = create(SignTransactionRequestSchema, { relayerId, transaction });
  const sign = async (): Promise<Parts> => {
    const signed = (await signing.signTransaction(request, once)).result?.network;
    if (signed?.case === undefined) return [];
    return [signedForm(signed), ['signature', signed.value.signature]];
  };
  return { request, sign };
}

function signatureParts(
  signature: { readonly sig: string; readonly r: string; readonly s: string; readonly v: number } | undefined,
): Parts {
  if (signature === undefined) return [];
  const { sig, r, s, v } = signature;
  return [
    ['signature', `0x${sig}`],
    ['r', `0x${r}`],
    ['s', `0x${s}`],
    ['v', String(v)],
  ];
}

const evmWays = { message, typed: typedData, transaction: serialized };

function EvmSign(properties: SignProperties) {
  const [kind, setKind] = useState<keyof typeof evmWays>('message');
  return (
    <>
      <div>
        <Segments
          label="What to sign"
          choices={{ message: 'Message', typed: 'Typed data', transaction: 'Transaction' }}
          value={kind}
          onValue={setKind}
        />
      </div>
      <SignForm key={kind} {...properties} way={evmWays[kind]} />
    </>
  );
}

/** A form that signs. */
function SignForm({ relayerId, typed: [typed, onDraft], way }: SignProperties & { readonly way: Way }) {
  const descs = way.fields.map(([desc]) => desc);
  const draft = Object.fromEntries(descs.map(({ localName }) => [localName, typed[localName] ?? '']));
  const [parts, setParts] = useState<Parts | null>(null);
  const action = useAction(async () => {
    setParts(null);
    setParts(await way.request(relayerId, draft).sign());
  });
  const { at, rest } = fieldProblems(action.failure, pathsOf(descs, way.prefix));
  return (
    <Form class="card form narrow" onSubmit={() => action.run()}>
      {way.fields.map(([desc, label]) => {
        const input = inputOf({ draft, problems: at, onDraft }, desc, label);
        if (way.rows !== undefined) return <TextArea key={desc.name} {...input} rows={way.rows} />;
        return <TextInput key={desc.name} {...input} mono placeholder="0x" />;
      })}
      <FailureNote failure={rest} />
      <div class="actions">
        <Button type="submit" class="primary" disabled={action.isRunning} text={action.isRunning ? 'Signing…' : 'Sign'} />
        <CopyAsButton request={() => way.request(relayerId, draft).request} />
      </div>
      {parts !== null && (
        <div role="status">
          <h2>Signed</h2>
          <dl class="pairs signature">
            {parts.map(([name, value]) => (
              <div class="pair" key={name}>
                <dt>{name}</dt>
                <dd>
                  <code>{value}</code> <CopyButton text={value} what={name} />
                </dd>
              </div>
            ))}
          </dl>
        </div>
      )}
    </Form>
  );
}
