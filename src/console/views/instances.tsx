import { useEffect, useState } from 'preact/hooks';
import { type Instance, InstanceState } from '../../../gen/relayer/v1/instance_service_pb.js';
import { Badge } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { Hash } from '../parts/copy.js';
import { FailureNote, Note } from '../parts/failure-note.js';
import { ConfirmDialog } from '../parts/form-dialog.js';
import { ListPanel } from '../parts/list-panel.js';
import { PageTitle } from '../parts/page-title.js';
import type { Column } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { toast } from '../parts/toast.js';
import { useAction } from '../parts/use-call.js';
import { usePages } from '../parts/use-pages.js';
import { instances, once } from '../service/clients.js';
import { overview } from '../service/overview.js';

/** The instances of the service. */
export function InstancesView() {
  const [drained, setDrained] = useState<Instance | null>(null);
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const pages = usePages<Instance>(async (pageToken, signal) => {
    const page = await instances.listInstances({ pageSize: 100, pageToken }, { ...once, signal });
    if (!signal.aborted) setWarnings(page.metadata?.logs.map(({ message }) => message) ?? []);
    return { rows: page.instances, nextPageToken: page.nextPageToken };
  }, []);
  // The overview hears of each change.
  const changed = overview.value.instances;
  useEffect(() => {
    if (changed.length > 0) pages.change(() => changed);
  }, [changed]);
  const show = (instance: Instance | undefined) => {
    if (instance !== undefined) pages.change((rows) => rows.map((row) => (row.id === instance.id ? instance : row)));
  };
  const drain = async (instanceId: string) => {
    show((await instances.drainInstance({ instanceId }, once)).instance);
    toast('The instance gives up its lanes.');
  };
  const undrain = useAction(async ({ id: instanceId }: Instance) => {
    show((await instances.undrainInstance({ instanceId }, once)).instance);
    toast('The instance takes its share again.');
  });
  return (
    <>
      <PageTitle>Instances</PageTitle>
      {warnings.map((warning) => (
        <Note key={warning} tone="warn">
          <p>{warning}</p>
        </Note>
      ))}
      <FailureNote failure={undrain.failure} />
      <ListPanel
        what="Instances"
        pages={pages}
        empty="There are no instances."
        columns={columnsOf(setDrained, (instance) => void undrain.run(instance))}
        keyOf={({ id }) => id}
      />
      {drained !== null && (
        <ConfirmDialog
          title="Drain the instance"
          action="Drain"
          typed={drained.id}
          onConfirm={() => drain(drained.id)}
          onClose={() => setDrained(null)}
        >
          <p>
            The instance on <span class="strong">{drained.host}</span> gives its lanes and its other work to the other instances, and takes
            none until its process starts again or you undo the drain. It still answers calls. It is drained when it has no lanes.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function columnsOf(onDrain: (instance: Instance) => void, onUndrain: (instance: Instance) => void): readonly Column<Instance>[] {
  return [
    {
      title: 'Instance',
      cell: ({ host, pid, isSelf }) => (
        <span class="break">
          {host} <span class="quiet">process {pid}</span>
          {isSelf && <span class="quiet"> · serves this page</span>}
        </span>
      ),
    },
    { title: 'State', cell: ({ state }) => <InstanceBadge state={state} /> },
    { title: 'Lanes', align: 'right', cell: ({ lanes }) => lanes.toLocaleString('en') },
    { title: 'Version', wideOnly: true, cell: ({ version }) => version },
    { title: 'Joined', wideOnly: true, cell: ({ joinedAt }) => <Time at={joinedAt} /> },
    {
      title: 'Last seen',
      cell: ({ lastSeenAt }) => (lastSeenAt === undefined ? <span class="bad-text">not connected</span> : <Time at={lastSeenAt} />),
    },
    { title: 'Id', wideOnly: true, cell: ({ id }) => <Hash value={id} what="instance id" /> },
    {
      title: 'Actions',
      align: 'right',
      cell: (instance) =>
        instance.state === InstanceState.DRAINING ? (
          <Button aria-label={`Undrain ${instance.host}, process ${instance.pid}`} onClick={() => onUndrain(instance)} text="Undrain" />
        ) : (
          <Button
            class="danger-quiet"
            aria-label={`Drain ${instance.host}, process ${instance.pid}`}
            onClick={() => onDrain(instance)}
            text="Drain"
          />
        ),
    },
  ];
}

/** The state of an instance. */
export function InstanceBadge({ state }: { readonly state: InstanceState }) {
  if (state === InstanceState.SHARING) {
    return <Badge tone="good" icon="check" text="sharing" />;
  }
  return (
    <Badge
      tone={state === InstanceState.DRAINING ? 'warn' : 'quiet'}
      icon={state === InstanceState.DRAINING ? 'pause' : 'clock'}
      text={state === InstanceState.DRAINING ? 'draining' : 'starting'}
    />
  );
}
