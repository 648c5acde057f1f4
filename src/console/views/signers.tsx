import { useState } from 'preact/hooks';
import { CreateSignerRequestSchema, type Signer } from '../../../gen/relayer/v1/signer_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { inputOf } from '../model/form.js';
import { Button } from '../parts/button.js';
import { Hash } from '../parts/copy.js';
import { FailureNote } from '../parts/failure-note.js';
import { ConfirmDialog, FormDialog, ResultDialog } from '../parts/form-dialog.js';
import { TextInput } from '../parts/inputs.js';
import { ListPage } from '../parts/list-panel.js';
import { SecretOnce } from '../parts/secret-once.js';
import type { Column } from '../parts/table.js';
import { toast } from '../parts/toast.js';
import { useAction } from '../parts/use-call.js';
import { useDraft } from '../parts/use-draft.js';
import { usePages } from '../parts/use-pages.js';
import { newIdempotencyKey, once, signers } from '../service/clients.js';
import { newPrivateKey } from '../service/random-keys.js';
import { hexOf } from '../text/snippets.js';
import { durationText } from '../text/times.js';

/** The names of the places where keys are, by the cases of a signer. */
const placeTexts: Readonly<Record<string, string>> = {
  local: 'the service',
  vault: 'HashiCorp Vault, KV',
  vaultTransit: 'HashiCorp Vault, Transit',
  pkcs11: 'HSM (PKCS #11)',
  awsKms: 'AWS KMS',
  googleCloudKms: 'Google Cloud KMS',
  azureKeyVault: 'Azure Key Vault',
  turnkey: 'Turnkey',
  cdp: 'Coinbase Developer Platform',
};

/** The signers: the keys that relayers sign with. */
export function SignersView() {
  const [deleted, setDeleted] = useState<string | null>(null);
  const pages = usePages<Signer>(async (pageToken, signal) => {
    const page = await signers.listSigners({ pageSize: 50, pageToken }, { ...once, signal });
    return { rows: page.signers, nextPageToken: page.nextPageToken };
  }, []);
  const remove = async (signerId: string) => {
    await signers.deleteSigner({ signerId }, once);
    toast(`Deleted: ${signerId}`);
    pages.reload();
  };
  const test = useAction(async (signerId: string) => {
    const { result } = await signers.testSigner({ signerId }, once);
    toast(`${signerId} signed, in ${durationText(result?.milliseconds ?? 0)}.`);
  });
  return (
    <>
      <ListPage
        title="Signers"
        create="New local signer"
        dialog={CreateDialog}
        notice={<FailureNote failure={test.failure} />}
        what="Signers"
        pages={pages}
        empty="There are no signers yet."
        emptyHint="A signer is a key that relayers sign with. Keys in an HSM, a cloud or a vault are set up in the configuration file or over the API."
        columns={columnsOf(test.isRunning, (id) => void test.run(id), setDeleted)}
        keyOf={({ id }) => id}
      />
      {deleted !== null && (
        <ConfirmDialog
          title="Delete the signer"
          action="Delete"
          typed={deleted}
          onConfirm={() => remove(deleted)}
          onClose={() => setDeleted(null)}
        >
          <p>
            The service deletes the signer, and the key too if the service stores it. Without a copy of the key, what its accounts own is
            lost.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function columnsOf(isTesting: boolean, onTest: (id: string) => void, onDelete: (id: string) => void): readonly Column<Signer>[] {
  return [
    { title: 'Signer', cell: ({ id }) => <span class="break">{id}</span> },
    { title: 'Key is in', cell: ({ config }) => placeTexts[config.case ?? ''] ?? 'unknown' },
    { title: 'Public key', cell: ({ config }) => <PublicKey config={config} /> },
    {
      title: 'Actions',
      align: 'right',
      cell: ({ id }) => (
        <span class="cell-actions">
          <Button disabled={isTesting} aria-label={`Test ${id}`} onClick={() => onTest(id)} text="Test" />
          <Button class="danger-quiet" aria-label={`Delete ${id}`} onClick={() => onDelete(id)} text="Delete" />
        </span>
      ),
    },
  ];
}

function PublicKey({ config: { value } }: { readonly config: Signer['config'] }) {
  if (value === undefined) return null;
  const address = 'evmAddress' in value ? value.evmAddress : undefined;
  if (address !== undefined) return <Hash value={address} what="address" />;
  const key = 'publicKey' in value ? value.publicKey : undefined;
  return key === undefined ? <span class="quiet">–</span> : <Hash value={key} what="public key" />;
}

function CreateDialog({ onCreated, onClose }: { readonly onCreated: () => void; readonly onClose: () => void }) {
  const [draft, onDraft] = useDraft({ id: '' });
  const [key] = useState(newPrivateKey);
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [created, setCreated] = useState<Signer | null>(null);
  const create = useAction(async () => {
    const { signer } = await signers.createSigner(
      {
        ...(draft.id.trim() === '' ? {} : { id: draft.id.trim() }),
        config: { case: 'local', value: { secret: { case: 'key', value: key } } },
        idempotencyKey,
      },
      once,
    );
    setCreated(signer ?? null);
    onCreated();
  });
  const { at, rest } = fieldProblems(create.failure, { id: 'id' });
  if (created !== null) {
    return (
      <ResultDialog title="Signer created" onClose={onClose}>
        <dl class="pairs">
          <dt>Signer</dt>
          <dd>{created.id}</dd>
          <dt>Address on EVM networks</dt>
          <dd>
            <PublicKey config={created.config} />
          </dd>
        </dl>
        <details>
          <summary>Private key, to back it up</summary>
          <SecretOnce secret={`0x${hexOf(key)}`} what="private key">
            A person with this key can spend what its accounts own. The service never shows it again.
          </SecretOnce>
        </details>
      </ResultDialog>
    );
  }
  return (
    <FormDialog
      title="New local signer"
      action="Create"
      isRunning={create.isRunning}
      failure={rest}
      onSubmit={() => void create.run()}
      onClose={onClose}
    >
      <p>
        Your browser makes a private key at random and sends it to the service, which stores it encrypted. It works on networks of every
        type.
      </p>
      <TextInput {...inputOf({ draft, problems: at, onDraft }, CreateSignerRequestSchema.field.id)} />
    </FormDialog>
  );
}
