import { getOption } from '@bufbuild/protobuf';
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { text as textOption } from '../../../gen/relayer/rest/v1/options_pb.js';
import {
  type ApiKey,
  ApiKeyScope,
  ApiKeyScopeSchema,
  CreateApiKeyRequestSchema,
  RotateApiKeyRequestSchema,
} from '../../../gen/relayer/v1/api_key_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { inputOf, pathsOf } from '../model/form.js';
import { timeFromLocal } from '../model/local-time.js';
import { Badge } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { Note } from '../parts/failure-note.js';
import { ConfirmDialog, FormDialog, ResultDialog } from '../parts/form-dialog.js';
import { Check, TextArea, TextInput, TimeInput } from '../parts/inputs.js';
import { ListPage } from '../parts/list-panel.js';
import { SecretOnce } from '../parts/secret-once.js';
import type { Column } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { toast } from '../parts/toast.js';
import { useAction } from '../parts/use-call.js';
import { useDraft } from '../parts/use-draft.js';
import { usePages } from '../parts/use-pages.js';
import { apiKeys, newIdempotencyKey, once } from '../service/clients.js';
import { caller } from '../service/session.js';
import { helpOf } from '../text/help.js';
import { wordsOf } from '../text/words.js';

/** The scopes with their names in the API, and what they allow. */
const scopeTexts = ApiKeyScopeSchema.values
  .filter(({ number }) => number !== ApiKeyScope.UNSPECIFIED)
  .map((value) => [value.number as ApiKeyScope, getOption(value, textOption), helpOf(value)] as const);

/** The API keys. */
export function KeysView() {
  const [revoked, setRevoked] = useState<ApiKey | null>(null);
  const [rotated, setRotated] = useState<ApiKey | null>(null);
  const pages = usePages<ApiKey>(async (pageToken, signal) => {
    const page = await apiKeys.listApiKeys({ pageSize: 50, pageToken }, { ...once, signal });
    return { rows: page.apiKeys, nextPageToken: page.nextPageToken };
  }, []);
  const revoke = async (key: ApiKey) => {
    await apiKeys.deleteApiKey({ apiKeyId: key.id }, once);
    toast(`Revoked: ${key.name}`);
    pages.reload();
  };
  return (
    <>
      <ListPage
        title="API keys"
        create="New API key"
        dialog={CreateDialog}
        what="API keys"
        pages={pages}
        empty="There are no API keys besides the bootstrap key."
        columns={columnsOf(setRotated, setRevoked)}
        keyOf={({ id }) => id}
      />
      {rotated !== null && <RotateDialog apiKey={rotated} onRotated={pages.reload} onClose={() => setRotated(null)} />}
      {revoked !== null && (
        <ConfirmDialog
          title="Revoke the API key"
          action="Revoke"
          typed={revoked.id}
          onConfirm={() => revoke(revoked)}
          onClose={() => setRevoked(null)}
        >
          <p>
            Calls with the key <span class="strong">{revoked.name}</span> fail from now on. This cannot be undone.
          </p>
          {revoked.id === caller.value?.apiKeyId && (
            <Note tone="warn">You are signed in with this key. Revoking it ends your session.</Note>
          )}
        </ConfirmDialog>
      )}
    </>
  );
}

function columnsOf(onRotate: (key: ApiKey) => void, onRevoke: (key: ApiKey) => void): readonly Column<ApiKey>[] {
  return [
    {
      title: 'Name',
      cell: ({ name, id }) => (
        <span class="named">
          <span class="break">
            {name}
            {id === caller.value?.apiKeyId && <span class="quiet"> (this session)</span>}
          </span>
          <code class="quiet small">{id}</code>
        </span>
      ),
    },
    {
      title: 'Scopes',
      cell: ({ scopes }) => (
        <span class="badges">
          {scopeTexts
            .filter(([scope]) => scopes.includes(scope))
            .map(([scope, name]) => (
              <Badge key={scope} tone={scope === ApiKeyScope.ADMIN ? 'warn' : 'quiet'} icon="dot" text={name} />
            ))}
        </span>
      ),
    },
    {
      title: 'Relayers',
      cell: ({ relayerIds }) =>
        relayerIds.length === 0 ? (
          <span class="quiet">all</span>
        ) : (
          <span title={relayerIds.join(', ')}>{relayerIds.length === 1 ? relayerIds[0] : `${relayerIds.length} relayers`}</span>
        ),
    },
    {
      title: 'Addresses',
      wideOnly: true,
      cell: ({ allowedAddresses }) =>
        allowedAddresses.length === 0 ? (
          <span class="quiet">all</span>
        ) : (
          <span title={allowedAddresses.join(', ')}>
            {allowedAddresses.length === 1 ? allowedAddresses[0] : `${allowedAddresses.length} ranges`}
          </span>
        ),
    },
    {
      title: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? <span class="quiet">never</span> : <Time at={lastUsedAt} />),
    },
    { title: 'Created', wideOnly: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Expires', cell: ({ expiresAt }) => (expiresAt === undefined ? <span class="quiet">never</span> : <Time at={expiresAt} />) },
    {
      title: 'Actions',
      align: 'right',
      cell: (key) => (
        <>
          <Button aria-label={`Rotate ${key.name}`} onClick={() => onRotate(key)} text="Rotate" />
          <Button class="danger-quiet" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)} text="Revoke" />
        </>
      ),
    },
  ];
}

function RotateDialog({
  apiKey,
  onRotated,
  onClose,
}: {
  readonly apiKey: ApiKey;
  readonly onRotated: () => void;
  readonly onClose: () => void;
}) {
  const [draft, onDraft] = useDraft({ overlapSeconds: '86400' });
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [secret, setSecret] = useState<string | null>(null);
  const { overlapSeconds } = RotateApiKeyRequestSchema.field;
  const typed = draft.overlapSeconds.trim();
  const isNumber = /^[0-9]{1,6}$/.test(typed);
  const rotate = useAction(async () => {
    const { key } = await apiKeys.rotateApiKey({ apiKeyId: apiKey.id, overlapSeconds: Number(typed), idempotencyKey }, once);
    setSecret(key);
    onRotated();
  });
  const { at, rest } = fieldProblems(rotate.failure, pathsOf([overlapSeconds]));
  if (secret !== null) return <NewSecret title="API key rotated" secret={secret} onClose={onClose} />;
  return (
    <FormDialog
      title="Rotate the API key"
      action="Rotate"
      isRunning={rotate.isRunning}
      isReady={isNumber}
      failure={rest}
      onSubmit={() => void rotate.run()}
      onClose={onClose}
    >
      <p>
        <span class="strong">{apiKey.name}</span> gets a new secret, and keeps its rights. Former secrets of earlier rotations end when
        these said, or now if the overlap is 0.
      </p>
      <TextInput {...inputOf({ draft, onDraft, problems: at }, overlapSeconds)} inputMode="numeric" />
    </FormDialog>
  );
}

function NewSecret({ title, secret, onClose }: { readonly title: string; readonly secret: string; readonly onClose: () => void }) {
  return (
    <ResultDialog title={title} onClose={onClose}>
      <SecretOnce secret={secret} what="API key">
        Copy the API key now. The service stores only a hash of it, and cannot show it again.
      </SecretOnce>
    </ResultDialog>
  );
}

function CreateDialog({ onCreated, onClose }: { readonly onCreated: () => void; readonly onClose: () => void }) {
  const [draft, onDraft] = useDraft({ name: '', relayerIds: '', expiresAt: '', allowedAddresses: '' });
  const [scopes, setScopes] = useState<readonly ApiKeyScope[]>([ApiKeyScope.TRANSACTIONS_READ]);
  const [idempotencyKey] = useState(newIdempotencyKey);
  const [secret, setSecret] = useState<string | null>(null);
  const [own, setOwn] = useState<string | undefined>(undefined);
  const create = useAction(async () => {
    const expiry = timeFromLocal(draft.expiresAt);
    const isIncomplete = draft.expiresAt !== '' && expiry === undefined;
    setOwn(isIncomplete ? 'enter a date and a time' : undefined);
    if (isIncomplete) return;
    const { key } = await apiKeys.createApiKey(
      {
        name: draft.name.trim(),
        scopes: [...scopes],
        relayerIds: wordsOf(draft.relayerIds),
        allowedAddresses: wordsOf(draft.allowedAddresses),
        ...(expiry === undefined ? {} : { expiresAt: expiry }),
        idempotencyKey,
      },
      once,
    );
    setSecret(key);
    onCreated();
  });
  const fields = CreateApiKeyRequestSchema.field;
  const { at, rest } = fieldProblems(
    create.failure,
    pathsOf([fields.name, fields.scopes, fields.relayerIds, fields.expiresAt, fields.allowedAddresses]),
  );
  const form = { draft, onDraft, problems: own === undefined ? at : { ...at, expiresAt: own } };
  if (secret !== null) return <NewSecret title="API key created" secret={secret} onClose={onClose} />;
  return (
    <FormDialog
      title="New API key"
      action="Create"
      isRunning={create.isRunning}
      failure={rest}
      onSubmit={() => void create.run()}
      onClose={onClose}
    >
      <TextInput {...inputOf(form, fields.name)} />
      <fieldset class="group">
        <legend>Scopes</legend>
        {scopeTexts.map(([scope, text, meaning]) => (
          <Check
            key={scope}
            label={
              <Fragment>
                <code>{text}</code> <span class="quiet">{meaning}</span>
              </Fragment>
            }
            checked={scopes.includes(scope)}
            onChecked={(checked) => setScopes(checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))}
          />
        ))}
        {at.scopes !== undefined && <p class="problem">{at.scopes}</p>}
      </fieldset>
      <TextArea {...inputOf(form, fields.relayerIds, 'Relayers')} rows={2} />
      <TimeInput {...inputOf(form, fields.expiresAt, 'Expires')} />
      <TextArea {...inputOf(form, fields.allowedAddresses, 'Allowed addresses')} rows={2} />
    </FormDialog>
  );
}
