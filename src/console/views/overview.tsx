import { useComputed } from '@preact/signals';
import { useEffect, useId, useState } from 'preact/hooks';
import type { Instance } from '../../../gen/relayer/v1/instance_service_pb.js';
import { InstanceState } from '../../../gen/relayer/v1/instance_service_pb.js';
import { EndpointState, type NetworkOverview, type OverviewSample } from '../../../gen/relayer/v1/overview_service_pb.js';
import { byUrgency, type Concern, concernOf, matchesFilter } from '../model/concerns.js';
import { counted } from '../model/lane.js';
import { msOf } from '../model/ms-of.js';
import { kindOf } from '../model/networks.js';
import { locationTo } from '../model/route.js';
import { Amount, GasPrice } from '../parts/amount.js';
import { Badge, type Tone } from '../parts/badge.js';
import { Button } from '../parts/button.js';
import { Chart } from '../parts/chart.js';
import { Empty, FailureNote, Loading } from '../parts/failure-note.js';
import { Form } from '../parts/form.js';
import { Icon, type IconName } from '../parts/icon.js';
import { PageTitle } from '../parts/page-title.js';
import { type Column, Table } from '../parts/table.js';
import { Age, Time } from '../parts/time.js';
import { serviceNow } from '../service/clock.js';
import { currentQuery, goTo, replaceLocation } from '../service/location.js';
import { coinOf, networkOf, overview, overviewFailure } from '../service/overview.js';
import { may, scopes } from '../service/session.js';
import { shortDurationText } from '../text/times.js';
import { InstanceBadge } from './instances.js';

/** Rows that are drawn at first, and with each request for more: with thousands of relayers the page must still appear at once. */
const rowStep = 100;

/** The state of the whole service: what needs an operator stands first. */
export function OverviewView() {
  if (!may(scopes.read)) return <OpenRelayer />;
  const { isComplete, relayers, samples } = overview.value;
  if (overviewFailure.value !== undefined) {
    return (
      <>
        <PageTitle>Overview</PageTitle>
        <FailureNote failure={overviewFailure.value} />
      </>
    );
  }
  return (
    <>
      <PageTitle>Overview</PageTitle>
      {!isComplete && relayers.size === 0 ? (
        <Loading what="the overview" />
      ) : (
        <>
          <Summary />
          {samples.length > 1 && <Charts samples={samples} />}
          <Relayers />
          <div class="halves">
            <Networks />
            <Instances />
          </div>
        </>
      )}
    </>
  );
}

/** Opens a relayer for a key that may not list them. */
function OpenRelayer() {
  const id = useId();
  const part = may(scopes.write) ? 'send' : may(scopes.sign) ? 'sign' : null;
  return (
    <>
      <PageTitle>Overview</PageTitle>
      {part === null ? (
        <Empty title="This API key may not read relayers.">It lacks the scope transactions:read.</Empty>
      ) : (
        <Form
          class="card form"
          onSubmit={(typed) => {
            const relayerId = String(typed.get('relayer')).trim();
            if (relayerId !== '') goTo(locationTo(['relayers', relayerId, part]));
          }}
        >
          <p>This API key may not list relayers. Open one by its id.</p>
          <div class="field">
            <label htmlFor={id}>Relayer id</label>
            <input id={id} name="relayer" autoComplete="off" spellcheck={false} />
          </div>
          <div class="actions">
            <Button type="submit" class="primary" text="Open" />
          </div>
        </Form>
      )}
    </>
  );
}

/**
 * All relayers with what is wrong with them, ordered. It is computed again when the overview or the time changes, for all parts of the view
 * together.
 */
function useConcerns(): readonly Concern[] {
  return useComputed(() => {
    const { relayers } = overview.value;
    const now = serviceNow.value;
    return [...relayers.values()].map((relayer) => concernOf(relayer, networkOf(relayer), now)).sort(byUrgency);
  }).value;
}

function Summary() {
  const concerns = useConcerns();
  const { webhookBacklog, instances, networks } = overview.value;
  const urgent = concerns.filter(({ urgency }) => urgency === 3).length;
  const soon = concerns.filter(({ urgency }) => urgency === 2).length;
  const waiting = concerns.reduce((sum, { relayer }) => sum + relayer.waiting, 0);
  const inFlight = concerns.reduce((sum, { relayer }) => sum + relayer.inFlight, 0);
  const away = [...networks.values()].filter(({ problem }) => problem !== undefined).length;
  const tone: Tone = urgent > 0 ? 'bad' : soon + away > 0 ? 'warn' : 'good';
  const parts = [
    ...(urgent > 0 ? [`${counted(urgent, 'relayer')} ${urgent === 1 ? 'needs' : 'need'} an operator now`] : []),
    ...(soon > 0 ? [`${counted(soon, 'relayer')} ${soon === 1 ? 'needs' : 'need'} attention soon`] : []),
    ...(away > 0 ? [`${counted(away, 'network')} ${away === 1 ? 'has' : 'have'} no RPC node`] : []),
  ];
  return (
    <>
      <section class={`verdict ${tone}`} aria-label="Summary">
        <Icon name={tone === 'good' ? 'check' : 'alert'} />
        <div class="verdict-text">
          <div role="status">
            <h2>{parts.length === 0 ? 'Every relayer is ok.' : `${parts.join(', ')}.`}</h2>
          </div>
        </div>
      </section>
      <dl class="facts tiles">
        <Tile title="Relayers" value={concerns.length} />
        <Tile title="Waiting to be signed" value={waiting} />
        <Tile title="In flight" value={inFlight} />
        {webhookBacklog !== undefined && <Tile title="Webhook backlog" value={webhookBacklog} more={webhookBacklog >= 100_000} />}
        {instances.length > 0 && (
          <Tile
            title="Instances"
            value={instances.filter(({ state }) => state === InstanceState.SHARING).length}
            note={`of ${instances.length} sharing`}
          />
        )}
      </dl>
    </>
  );
}

function Tile({
  title,
  value,
  note,
  more = false,
}: {
  readonly title: string;
  readonly value: number;
  readonly note?: string;
  readonly more?: boolean;
}) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <span class="figure">
          {value.toLocaleString('en')}
          {more && ' or more'}
        </span>
        {note !== undefined && <span class="quiet"> {note}</span>}
      </dd>
    </div>
  );
}

function Charts({ samples }: { readonly samples: readonly OverviewSample[] }) {
  const pointsOf = (value: (sample: OverviewSample) => number) =>
    samples.map((sample) => ({ atMs: sample.at === undefined ? 0 : msOf(sample.at), value: value(sample) }));
  const failed = samples.reduce((sum, sample) => sum + sample.failed, 0);
  const showsBacklog = overview.value.webhookBacklog !== undefined;
  return (
    <section class="charts" aria-label="Last 24 hours">
      <Chart title="Confirmed, last 24 h" kind="count" tone="good" points={pointsOf(({ confirmed }) => confirmed)} />
      <Chart title="Failed, last 24 h" kind="count" tone={failed > 0 ? 'bad' : 'accent'} points={pointsOf((sample) => sample.failed)} />
      <Chart title="Open now" kind="level" points={pointsOf(({ open }) => open)} />
      {showsBacklog && (
        <Chart title="Webhook backlog now" kind="level" tone="warn" points={pointsOf(({ webhookBacklog }) => webhookBacklog)} />
      )}
    </section>
  );
}

const urgencyBadges: readonly { readonly tone: Tone; readonly icon: IconName }[] = [
  { tone: 'good', icon: 'check' },
  { tone: 'quiet', icon: 'pause' },
  { tone: 'warn', icon: 'alert' },
  { tone: 'bad', icon: 'alert' },
];

function Relayers() {
  const concerns = useConcerns();
  const filter = currentQuery.value.get('filter') ?? '';
  const [limit, setLimit] = useState(rowStep);
  const id = useId();
  // A new filter begins with its first rows.
  useEffect(() => setLimit(rowStep), [filter]);
  const found = filter.trim() === '' ? concerns : concerns.filter(({ relayer }) => matchesFilter(relayer, filter.trim()));
  return (
    <section class="panel" aria-labelledby={`${id}-title`}>
      <div class="panel-head">
        <h2 id={`${id}-title`}>Relayers</h2>
        <span class="quiet small" role="status">
          {found.length === concerns.length ? concerns.length.toLocaleString('en') : `${found.length} of ${concerns.length}`}
        </span>
        <search class="filter">
          <label class="visually-hidden" htmlFor={id}>
            Filter relayers
          </label>
          <input
            id={id}
            type="search"
            placeholder="Filter by name, id, address or network"
            value={filter}
            autoComplete="off"
            spellcheck={false}
            onInput={(event) => replaceLocation(locationTo([], { filter: event.currentTarget.value }))}
          />
        </search>
      </div>
      {found.length === 0 ? (
        <Empty title={filter === '' ? 'There is no relayer.' : 'No relayer matches the filter.'} />
      ) : (
        <Table
          caption="Relayers, the most urgent first"
          columns={relayerColumns}
          rows={found.slice(0, limit)}
          keyOf={({ relayer }) => relayer.id}
          rowClass={({ urgency }) => (urgency === 3 ? 'bad' : urgency === 2 ? 'warn' : undefined)}
        />
      )}
      {found.length > limit && (
        <p class="more">
          <Button
            onClick={() => setLimit(limit + rowStep)}
            text={`Show ${Math.min(rowStep, found.length - limit)} more of ${(found.length - limit).toLocaleString('en')}`}
          />
        </p>
      )}
    </section>
  );
}

const relayerColumns: readonly Column<Concern>[] = [
  {
    title: 'Relayer',
    cell: ({ relayer }) => (
      <a class="name" href={locationTo(['relayers', relayer.id, 'lane'])} title={relayer.id}>
        {relayer.name}
      </a>
    ),
  },
  { title: 'Network', cell: ({ relayer }) => <span class="quiet">{relayer.network}</span> },
  {
    title: 'State',
    cell: ({ urgency, reasons }) => {
      const { tone, icon } = urgencyBadges[urgency] ?? { tone: 'quiet', icon: 'dash' };
      return (
        <span class="badges">
          {reasons.length === 0 ? (
            <Badge tone={tone} icon={icon} text="ok" />
          ) : (
            reasons.map((reason, index) => (
              <Badge key={reason} tone={index === 0 ? tone : 'quiet'} icon={index === 0 ? icon : 'dot'} text={reason} />
            ))
          )}
        </span>
      );
    },
  },
  {
    title: 'Balance',
    align: 'right',
    cell: ({ relayer }) =>
      relayer.balance === undefined ? <span class="quiet">unknown</span> : <Amount value={relayer.balance} {...coinOf(relayer)} />,
  },
  {
    title: 'Lasts',
    align: 'right',
    cell: ({ relayer }) =>
      relayer.balanceLasts === undefined ? '' : <span class="number">{shortDurationText(msOf(relayer.balanceLasts))}</span>,
  },
  { title: 'Waiting', align: 'right', cell: ({ relayer }) => relayer.waiting || <span class="quiet">0</span> },
  { title: 'In flight', align: 'right', cell: ({ relayer }) => relayer.inFlight || <span class="quiet">0</span> },
  {
    title: 'Oldest open',
    align: 'right',
    cell: ({ relayer }) => {
      if (relayer.oldestOpenAt === undefined) return '';
      const age = <Age at={relayer.oldestOpenAt} />;
      return relayer.oldestOpenId === undefined ? (
        age
      ) : (
        <a class="number" href={locationTo(['relayers', relayer.id, 'transactions', relayer.oldestOpenId])}>
          {age}
        </a>
      );
    },
  },
  {
    title: 'Waits for',
    cell: ({ relayer }) => {
      const text = relayer.disabledReason ?? relayer.waitsFor;
      return text === undefined ? (
        ''
      ) : (
        <span class="clamped" title={text}>
          {text}
        </span>
      );
    },
  },
];

/** A head is late after this many times the usual time between blocks, and at least after the floor. */
const lateBlocks = 5;
const lateFloorMs = 15_000;

function headTone(network: NetworkOverview, nowMs: number): Tone {
  if (network.problem !== undefined) return 'bad';
  if (network.headAt === undefined) return 'quiet';
  const usualMs = network.averageBlockTime === undefined ? 0 : msOf(network.averageBlockTime);
  return nowMs - msOf(network.headAt) > Math.max(lateFloorMs, usualMs * lateBlocks) ? 'warn' : 'good';
}

function Networks() {
  const networks = [...overview.value.networks.values()].sort(
    (a, b) => Number(b.problem !== undefined) - Number(a.problem !== undefined) || (a.name < b.name ? -1 : 1),
  );
  const showsEndpoints = networks.some(({ endpoints }) => endpoints.length > 0);
  const columns: readonly Column<NetworkOverview>[] = [
    {
      title: 'Network',
      cell: ({ name, networkType }) => (
        <span class="named">
          <span class="strong">{name}</span>
          <span class="quiet small">{kindOf(networkType).text}</span>
        </span>
      ),
    },
    {
      title: 'Head',
      cell: (network) => {
        const tone = headTone(network, serviceNow.value);
        const text = { good: 'on time', warn: 'late', bad: 'no RPC node', quiet: 'no block yet', busy: '' }[tone];
        return (
          <span class="badges">
            <Badge tone={tone} icon={tone === 'good' ? 'check' : tone === 'quiet' ? 'dash' : 'alert'} text={text} />
            {network.problem !== undefined && <span class="small">{network.problem}</span>}
          </span>
        );
      },
    },
    { title: 'Block', align: 'right', cell: ({ headNumber }) => headNumber?.toString() ?? '' },
    {
      title: 'Seen',
      align: 'right',
      cell: ({ headAt }) =>
        headAt === undefined ? (
          ''
        ) : (
          <span class="number">
            <Age at={headAt} />
          </span>
        ),
    },
    { title: 'Base fee', align: 'right', cell: ({ baseFee }) => (baseFee === undefined ? '' : <GasPrice wei={baseFee} />) },
    ...(showsEndpoints
      ? [
          {
            title: 'Endpoints',
            cell: ({ endpoints }: NetworkOverview) => (
              <ul class="endpoints">
                {endpoints.map(({ host, state, weight }, index) => (
                  <li key={`${host} ${index}`}>
                    <Icon name={state === EndpointState.IN_USE ? 'check' : 'alert'} />
                    <span>
                      {host}{' '}
                      <span class={state === EndpointState.IN_USE ? 'quiet small' : 'bad-text small'}>
                        {weight === 0 ? 'weight 0' : endpointTexts[state]}
                      </span>
                    </span>
                  </li>
                ))}
              </ul>
            ),
          },
        ]
      : []),
  ];
  return (
    <section class="panel" aria-label="Networks">
      <div class="panel-head">
        <h2>Networks</h2>
      </div>
      {networks.length === 0 ? (
        <Empty title="No relayer uses a network." />
      ) : (
        <Table caption="Networks" columns={columns} rows={networks} keyOf={({ id }) => id} />
      )}
    </section>
  );
}

const endpointTexts: Readonly<Record<EndpointState, string>> = {
  [EndpointState.UNSPECIFIED]: 'unknown',
  [EndpointState.IN_USE]: 'in use',
  [EndpointState.FAILING]: 'failing',
  [EndpointState.PAUSED]: 'asked for a pause',
  [EndpointState.OUT_OF_STEP]: 'out of step',
  [EndpointState.FORKED]: 'on another branch',
  [EndpointState.WRONG_CHAIN]: 'wrong chain',
};

const instanceColumns: readonly Column<Instance>[] = [
  {
    title: 'Instance',
    cell: ({ host, pid, version, isSelf }) => (
      <span class="named">
        <span class="strong">
          {host}:{pid}
        </span>
        <span class="quiet small">
          {version}
          {isSelf && ' · serves this page'}
        </span>
      </span>
    ),
  },
  {
    title: 'State',
    cell: ({ state }) => <InstanceBadge state={state} />,
  },
  { title: 'Lanes', align: 'right', cell: ({ lanes }) => lanes.toLocaleString('en') },
  { title: 'Joined', align: 'right', cell: ({ joinedAt }) => <Time at={joinedAt} /> },
  {
    title: 'Last seen',
    align: 'right',
    cell: ({ lastSeenAt }) => (lastSeenAt === undefined ? <span class="bad-text">not connected</span> : <Time at={lastSeenAt} />),
  },
];

function Instances() {
  const { instances } = overview.value;
  if (instances.length === 0) return null;
  return (
    <section class="panel" aria-label="Instances">
      <div class="panel-head">
        <h2>Instances and their lanes</h2>
        {may(scopes.admin) && (
          <div class="actions">
            <a class="small" href="#/instances">
              Manage
            </a>
          </div>
        )}
      </div>
      <Table caption="Instances and their lanes" columns={instanceColumns} rows={instances} keyOf={({ id }) => id} />
    </section>
  );
}
