import { useState } from 'preact/hooks';
import type { Network } from '../../../gen/relayer/v1/network_service_pb.js';
import { fieldProblems } from '../model/field-problems.js';
import { counted } from '../model/lane.js';
import { msOf } from '../model/ms-of.js';
import { kindOf } from '../model/networks.js';
import { Badge } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { FormDialog } from '../parts/form-dialog.js';
import { ListPanel } from '../parts/list-panel.js';
import { PageTitle } from '../parts/page-title.js';
import { type Column, Table } from '../parts/table.js';
import { toast } from '../parts/toast.js';
import { useAction } from '../parts/use-call.js';
import { usePages } from '../parts/use-pages.js';
import { networks, once } from '../service/clients.js';
import { overview } from '../service/overview.js';
import { durationText } from '../text/times.js';
import { RpcUrlInputs, rpcUrlPaths, rpcUrlsFrom, type TypedRpcUrl, typedRpcUrls } from './rpc-urls.js';

/** The networks and their RPC endpoints. */
export function NetworksView() {
  const [edited, setEdited] = useState<Network | null>(null);
  const pages = usePages<Network>(async (pageToken, signal) => {
    const page = await networks.listNetworks({ pageSize: 100, pageToken }, { ...once, signal });
    return { rows: page.networks, nextPageToken: page.nextPageToken };
  }, []);
  const [used, others] = byUse(pages.rows);
  const columns = columnsOf(setEdited);
  return (
    <>
      <PageTitle>Networks</PageTitle>
      <ListPanel
        what="Networks"
        pages={pages}
        rows={used}
        empty="There are no networks."
        emptyHint="Networks are set up in the configuration file."
        columns={columns}
        keyOf={({ id }) => id}
      />
      {others.length > 0 && (
        <details>
          <summary>{counted(others.length, 'network')} without relayers</summary>
          <div class="panel">
            <Table caption="Networks without relayers" columns={columns} rows={others} keyOf={({ id }) => id} />
          </div>
        </details>
      )}
      {edited !== null && (
        <EditDialog
          network={edited}
          onSaved={(network) => pages.change((rows) => rows.map((row) => (row.id === network.id ? network : row)))}
          onClose={() => setEdited(null)}
        />
      )}
    </>
  );
}

/** Returns the networks that relayers use, and the others. Without relayers, all count as used: they are what the operator came for. */
export function byUse(rows: readonly Network[]): readonly [used: readonly Network[], others: readonly Network[]] {
  const used = rows.filter(({ id }) => overview.value.networks.has(id));
  return used.length === 0 ? [rows, []] : [used, rows.filter((network) => !used.includes(network))];
}

function columnsOf(onEdit: (network: Network) => void): readonly Column<Network>[] {
  return [
    {
      title: 'Network',
      cell: ({ name, isTestnet }) => (
        <span class="badges">
          {name}
          {isTestnet && <Badge tone="quiet" icon="dot" text="test network" />}
        </span>
      ),
    },
    {
      title: 'Type',
      cell: ({ networkType, chainId }) => (
        <span>
          {kindOf(networkType).text}
          {chainId !== undefined && <span class="quiet"> chain {chainId.toString()}</span>}
        </span>
      ),
    },
    {
      title: 'Confirmations',
      align: 'right',
      wideOnly: true,
      cell: ({ requiredConfirmations }) => requiredConfirmations?.toString() ?? <span class="quiet">–</span>,
    },
    {
      title: 'Block time',
      align: 'right',
      wideOnly: true,
      cell: ({ averageBlockTime }) => averageBlockTime !== undefined && durationText(msOf(averageBlockTime)),
    },
    {
      title: 'RPC endpoints',
      cell: ({ rpcUrls }) => (
        <ul class="endpoints">
          {rpcUrls.map(({ url, weight }, index) => (
            <li key={`${index} ${url}`}>
              <code>{url}</code>
              {rpcUrls.some((one) => (one.weight ?? 100) !== 100) && <span class="quiet small number">weight {weight ?? 100}</span>}
            </li>
          ))}
        </ul>
      ),
    },
    {
      title: 'Actions',
      align: 'right',
      cell: (network) => <Button aria-label={`Edit the RPC endpoints of ${network.name}`} onClick={() => onEdit(network)} text="Edit" />,
    },
  ];
}

function EditDialog({
  network,
  onSaved,
  onClose,
}: {
  readonly network: Network;
  readonly onSaved: (network: Network) => void;
  readonly onClose: () => void;
}) {
  const [urls, setUrls] = useState<readonly TypedRpcUrl[]>(() => typedRpcUrls(network.rpcUrls));
  const save = useAction(async () => {
    const answer = await networks.updateNetwork(
      { networkId: network.id, rpcUrls: rpcUrlsFrom(urls), updateMask: { paths: ['rpc_urls'] } },
      once,
    );
    if (answer.network !== undefined) onSaved(answer.network);
    toast('Saved. The service uses an endpoint after it has verified its chain.');
    onClose();
  });
  const { at, rest } = fieldProblems(save.failure, rpcUrlPaths('rpc_urls', urls));
  return (
    <FormDialog
      title={`RPC endpoints of ${network.name}`}
      action="Save"
      isRunning={save.isRunning}
      failure={rest}
      onSubmit={() => void save.run()}
      onClose={onClose}
    >
      <RpcUrlInputs urls={urls} onUrls={setUrls} problems={at} />
    </FormDialog>
  );
}
