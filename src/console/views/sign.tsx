import { create } from '@bufbuild/protobuf';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import {
  type SignDataRequest,
  SignDataRequestSchema,
  type SignTransactionRequest,
  SignTransactionRequestSchema,
  type SignTypedDataRequest,
  SignTypedDataRequestSchema,
  SolanaSignRequestSchema,
  StellarSignRequestSchema,
} from '../../../gen/relayer/v1/signing_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { CopyButton } from '../parts/copy.js';
import { CopyAsButton } from '../parts/copy-as.js';
import { FailureNote } from '../parts/failure-note.js';
import { Form } from '../parts/form.js';
import { Segments, TextArea, TextInput } from '../parts/inputs.js';
import { useAction } from '../parts/use-call.js';
import { once, signing } from '../service/clients.js';
import { helpOf } from '../text/help.js';
import { RelayerFrame } from './relayer-frame.js';
import { ByNetwork } from './send.js';

/** Signs with the key of a relayer, without sending anything. */
export function SignView({ relayerId }: { readonly relayerId: string }) {
  return (
    <RelayerFrame relayerId={relayerId} tab="sign" title="Sign">
      <ByNetwork relayerId={relayerId}>
        {({ networkType }) =>
          networkType === NetworkType.EVM ? (
            <EvmSign relayerId={relayerId} />
          ) : (
            <TransactionSign key={networkType} relayerId={relayerId} network={networkType === NetworkType.STELLAR ? 'stellar' : 'solana'} />
          )
        }
      </ByNetwork>
    </RelayerFrame>
  );
}

/** A part of a signature, with its name. */
type Parts = readonly (readonly [name: string, value: string])[];

/** A form that signs. */
function SignForm<Request extends SignDataRequest | SignTypedDataRequest | SignTransactionRequest>({
  paths,
  request,
  sign,
  children,
}: {
  readonly paths: Readonly<Record<string, string>>;
  readonly request: () => Request;
  readonly sign: (request: Request) => Promise<Parts>;
  readonly children: (problems: Readonly<Record<string, string>>) => ComponentChildren;
}) {
  const [parts, setParts] = useState<Parts | null>(null);
  const action = useAction(async () => {
    setParts(null);
    setParts(await sign(request()));
  });
  const { at, rest } = fieldProblems(action.failure, paths);
  return (
    <Form class="card form narrow" onSubmit={() => action.run()}>
      {children(at)}
      <FailureNote failure={rest} />
      <div class="actions">
        <button type="submit" class="primary" disabled={action.isRunning}>
          {action.isRunning ? 'Signing…' : 'Sign'}
        </button>
        <CopyAsButton request={request} />
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

function EvmSign({ relayerId }: { readonly relayerId: string }) {
  const [kind, setKind] = useState<'message' | 'typed'>('message');
  const [message, setMessage] = useState('');
  const [domainSeparator, setDomainSeparator] = useState('');
  const [hashStructMessage, setHashStructMessage] = useState('');
  return (
    <>
      <div>
        <Segments
          label="What to sign"
          choices={[
            ['message', 'Message'],
            ['typed', 'Typed data'],
          ]}
          value={kind}
          onValue={setKind}
        />
      </div>
      {kind === 'message' ? (
        <SignForm
          key={kind}
          paths={{ message: 'message' }}
          request={() => create(SignDataRequestSchema, { relayerId, message })}
          sign={async (request) => signatureParts((await signing.signData(request, once)).signature)}
        >
          {(problems) => (
            <TextArea
              label="Message"
              hint={helpOf(SignDataRequestSchema.field.message)}
              value={message}
              problem={problems.message}
              onValue={setMessage}
            />
          )}
        </SignForm>
      ) : (
        <SignForm
          key={kind}
          paths={{ domainSeparator: 'domain_separator', hashStructMessage: 'hash_struct_message' }}
          request={() =>
            create(SignTypedDataRequestSchema, {
              relayerId,
              domainSeparator: domainSeparator.trim(),
              hashStructMessage: hashStructMessage.trim(),
            })
          }
          sign={async (request) => signatureParts((await signing.signTypedData(request, once)).signature)}
        >
          {(problems) => (
            <>
              <TextInput
                label="Domain separator"
                mono
                placeholder="0x"
                hint={helpOf(SignTypedDataRequestSchema.field.domainSeparator)}
                value={domainSeparator}
                problem={problems.domainSeparator}
                onValue={setDomainSeparator}
              />
              <TextInput
                label="Struct hash"
                mono
                placeholder="0x"
                hint={helpOf(SignTypedDataRequestSchema.field.hashStructMessage)}
                value={hashStructMessage}
                problem={problems.hashStructMessage}
                onValue={setHashStructMessage}
              />
            </>
          )}
        </SignForm>
      )}
    </>
  );
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

function TransactionSign({ relayerId, network }: { readonly relayerId: string; readonly network: 'stellar' | 'solana' }) {
  const [text, setText] = useState('');
  const request = () =>
    create(SignTransactionRequestSchema, {
      relayerId,
      transaction:
        network === 'stellar'
          ? { case: 'stellar', value: { unsignedXdr: text.trim() } }
          : { case: 'solana', value: { transaction: text.trim() } },
    });
  return (
    <SignForm
      paths={{ text: network === 'stellar' ? 'stellar.unsigned_xdr' : 'solana.transaction' }}
      request={request}
      sign={async (signRequest) => {
        const { result } = await signing.signTransaction(signRequest, once);
        const signed = result?.network;
        if (signed?.case === 'stellar') {
          return [
            ['signed envelope', signed.value.signedXdr],
            ['signature', signed.value.signature],
          ];
        }
        if (signed?.case === 'solana') {
          return [
            ['signed transaction', signed.value.transaction],
            ['signature', signed.value.signature],
          ];
        }
        return [];
      }}
    >
      {(problems) => (
        <TextArea
          label={network === 'stellar' ? 'Transaction envelope' : 'Transaction'}
          rows={6}
          hint={helpOf(network === 'stellar' ? StellarSignRequestSchema.field.unsignedXdr : SolanaSignRequestSchema.field.transaction)}
          value={text}
          problem={problems.text}
          onValue={setText}
        />
      )}
    </SignForm>
  );
}
