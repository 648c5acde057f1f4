import { useState } from 'preact/hooks';
import { CreateRelayerRequestSchema, type Relayer } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { EvmRuleSchema, SolanaRuleSchema, StellarRuleSchema } from '../../../gen/relayer/v1/rules_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { inputOf, pathsOf } from '../model/form.js';
import { buildPolicies, changedPolicies, draftOf, policyFields, policyPaths } from '../model/policies.js';
import { Button } from '../parts/button.js';
import { CodeBlock } from '../parts/code-block.js';
import { FailureNote, Loading } from '../parts/failure-note.js';
import { Form } from '../parts/form.js';
import { ConfirmDialog } from '../parts/form-dialog.js';
import { TextInput } from '../parts/inputs.js';
import { toast } from '../parts/toast.js';
import { useAction, useCall } from '../parts/use-call.js';
import { useDraft } from '../parts/use-draft.js';
import { once, relayers } from '../service/clients.js';
import { goTo } from '../service/location.js';
import { restJsonOf } from '../text/snippets.js';
import { PolicyInputs } from './policy-inputs.js';
import { RelayerFrame } from './relayer-frame.js';
import { NotificationInput, unitOfCoin } from './relayers.js';
import { RpcUrlInputs, rpcUrlPaths, rpcUrlsFrom, typedRpcUrls } from './rpc-urls.js';

/** Edits a relayer. Its id, network and signer never change. */
export function RelayerSettingsView({ relayerId }: { readonly relayerId: string }) {
  const { data, failure, reload } = useCall(
    async (signal) => (await relayers.getRelayer({ relayerId }, { ...once, signal })).relayer,
    [relayerId],
  );
  return (
    <RelayerFrame relayerId={relayerId} tab="settings" title="Settings">
      <FailureNote failure={failure} onRetry={reload} />
      {data === undefined && failure === undefined && <Loading what="the relayer" />}
      {data !== undefined && (
        <>
          {/* A saved record resets the forms. */}
          <GeneralForm key={`general ${data.name} ${data.notificationId}`} relayer={data} onSaved={reload} />
          <PolicyForm key={`policies ${JSON.stringify(draftOfRelayer(data))}`} relayer={data} onSaved={reload} />
          <RulesPanel relayer={data} />
          <RpcForm key={`rpc ${JSON.stringify(typedRpcUrls(data.customRpcUrls))}`} relayer={data} onSaved={reload} />
          <DeletePanel relayer={data} />
        </>
      )}
    </RelayerFrame>
  );
}

interface FormProperties {
  readonly relayer: Relayer;
  readonly onSaved: () => void;
}

function draftOfRelayer({ policies, networkType, network }: Relayer) {
  return draftOf(policies, policyFields(networkType), unitOfCoin(network, networkType));
}

function GeneralForm({ relayer, onSaved }: FormProperties) {
  const before = { name: relayer.name, notificationId: relayer.notificationId ?? '' };
  const [draft, onDraft] = useDraft(before);
  const { name, notificationId } = draft;
  const save = useAction(async () => {
    await relayers.updateRelayer(
      {
        relayerId: relayer.id,
        name: name.trim(),
        ...(notificationId.trim() === '' ? {} : { notificationId: notificationId.trim() }),
        updateMask: { paths: ['name', 'notification_id'] },
      },
      once,
    );
    toast('Saved.');
    onSaved();
  });
  const fields = CreateRelayerRequestSchema.field;
  const { at, rest } = fieldProblems(save.failure, pathsOf([fields.name, fields.notificationId]));
  const form = { draft, problems: at, onDraft };
  return (
    <Form class="card form narrow" onSubmit={() => save.run()}>
      <h2>General</h2>
      <p class="quiet">Signer: {relayer.signerId}</p>
      <div class="form-row">
        <TextInput {...inputOf(form, fields.name)} />
        <NotificationInput {...inputOf(form, fields.notificationId, 'Notification')} />
      </div>
      <FailureNote failure={rest} />
      <SaveButton isRunning={save.isRunning} isChanged={name !== before.name || notificationId !== before.notificationId} />
    </Form>
  );
}

function PolicyForm({ relayer, onSaved }: FormProperties) {
  const { networkType } = relayer;
  const coin = unitOfCoin(relayer.network, networkType);
  const before = draftOfRelayer(relayer);
  const [draft, setDraft] = useState(before);
  const [own, setOwn] = useState<Readonly<Record<string, string>>>({});
  const changed = changedPolicies(networkType, before, draft);
  const save = useAction(async () => {
    const built = buildPolicies(networkType, draft, coin);
    setOwn('problems' in built ? built.problems : {});
    if ('problems' in built) return;
    await relayers.updateRelayer({ relayerId: relayer.id, policies: built.policies, updateMask: { paths: changed } }, once);
    toast('Saved.');
    onSaved();
  });
  const { at, rest } = fieldProblems(save.failure, policyPaths(networkType));
  return (
    <Form class="card form narrow" onSubmit={() => save.run()}>
      <h2>Policies</h2>
      <PolicyInputs networkType={networkType} coin={coin} draft={draft} onDraft={setDraft} problems={{ ...at, ...own }} />
      <FailureNote failure={rest} />
      <SaveButton isRunning={save.isRunning} isChanged={changed.length > 0} />
    </Form>
  );
}

/** The spending rules of a relayer as REST has them. */
function rulesOf({ case: network, value }: Relayer['policies']): readonly string[] {
  if (network === 'evm') return value.rules.map((rule) => restJsonOf(EvmRuleSchema, rule));
  if (network === 'stellar') return value.rules.map((rule) => restJsonOf(StellarRuleSchema, rule));
  return network === 'solana' ? value.rules.map((rule) => restJsonOf(SolanaRuleSchema, rule)) : [];
}

/** Shows the spending rules of a relayer. */
function RulesPanel({ relayer: { policies } }: Pick<FormProperties, 'relayer'>) {
  const rules = rulesOf(policies);
  if (rules.length === 0) return null;
  return (
    <div class="card narrow">
      <h2>Spending rules</h2>
      <p class="quiet">The first rule that is for a transaction decides; if none is, it is rejected. The API and the file change them.</p>
      <CodeBlock label="Spending rules" text={`[${rules.join(', ')}]`} />
    </div>
  );
}

function RpcForm({ relayer, onSaved }: FormProperties) {
  const before = typedRpcUrls(relayer.customRpcUrls);
  const [urls, setUrls] = useState(before);
  const save = useAction(async () => {
    await relayers.updateRelayer(
      { relayerId: relayer.id, customRpcUrls: rpcUrlsFrom(urls), updateMask: { paths: ['custom_rpc_urls'] } },
      once,
    );
    toast('Saved.');
    onSaved();
  });
  const { at, rest } = fieldProblems(save.failure, rpcUrlPaths('custom_rpc_urls', urls));
  return (
    <Form class="card form narrow" onSubmit={() => save.run()}>
      <h2>Own RPC endpoints</h2>
      {urls.length === 0 && <p class="quiet">None: the relayer uses those of its network.</p>}
      <RpcUrlInputs urls={urls} onUrls={setUrls} problems={at} />
      <FailureNote failure={rest} />
      <SaveButton isRunning={save.isRunning} isChanged={JSON.stringify(urls) !== JSON.stringify(before)} />
    </Form>
  );
}

function SaveButton({ isRunning, isChanged }: { readonly isRunning: boolean; readonly isChanged: boolean }) {
  return (
    <div class="actions">
      <Button type="submit" class="primary" disabled={isRunning || !isChanged} text={isRunning ? 'Saving…' : 'Save'} />
    </div>
  );
}

function DeletePanel({ relayer }: { readonly relayer: Relayer }) {
  const [isAsking, setAsking] = useState(false);
  const remove = async () => {
    await relayers.deleteRelayer({ relayerId: relayer.id }, once);
    toast(`Deleted: ${relayer.name}`);
    goTo('#/relayers');
  };
  return (
    <section class="card form narrow" aria-label="Delete">
      <h2>Delete</h2>
      <p class="quiet">The service refuses while the relayer has transactions that are not final. The key stays with its signer.</p>
      <div class="actions">
        <Button class="danger-quiet" onClick={() => setAsking(true)} text="Delete the relayer" />
      </div>
      {isAsking && (
        <ConfirmDialog title="Delete the relayer" action="Delete" typed={relayer.id} onConfirm={remove} onClose={() => setAsking(false)}>
          <p>
            The relayer <span class="strong">{relayer.name}</span> accepts no more transactions. Its records can no longer be read over the
            API.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}
