import { computed, signal } from '@preact/signals';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import type { NetworkOverview, RelayerOverview } from '../../../gen/relayer/v1/overview_service_pb.js';
import { type Failure, failureOf } from '../model/failure.js';
import { msOf } from '../model/ms-of.js';
import { kindOf } from '../model/networks.js';
import { emptyOverview, mergeOverview, type OverviewState } from '../model/overview-state.js';
import { overviews } from './clients.js';
import { learnServiceTime } from './clock.js';
import { follow } from './streams.js';

/** While the first state arrives in many messages, the page shows what it has this often: drawing each message would delay the last one. */
const firstPaintMs = 250;

const state = signal<OverviewState>(emptyOverview);
const refusal = signal<Failure | undefined>(undefined);

/** What the page knows of the whole service. */
export const overview = computed(() => state.value);

/** Why the service does not send the overview. Undefined: it does. */
export const overviewFailure = computed(() => refusal.value);

/** Keeps the overview up to date until the returned function is called. */
export function followOverview(): () => void {
  state.value = emptyOverview;
  refusal.value = undefined;
  let incoming = emptyOverview;
  let shownAtMs = Number.NEGATIVE_INFINITY;
  return follow({
    open: (signal) => overviews.watchOverview({}, { signal }),
    // A new stream sends everything again. Until it has, the page shows what it knew: otherwise each interruption would empty it.
    onOpen: () => {
      incoming = emptyOverview;
    },
    onMessage: (message) => {
      if (message.at !== undefined) learnServiceTime(msOf(message.at));
      incoming = mergeOverview(incoming, message);
      if (incoming.isComplete) state.value = incoming;
      else if (!state.peek().isComplete && performance.now() - shownAtMs > firstPaintMs) {
        shownAtMs = performance.now();
        state.value = incoming;
      }
    },
    onRefused: (error) => {
      refusal.value = failureOf(error);
    },
  });
}

/** Returns a relayer as the overview knows it. Reading it in a view draws the view again when it changes. */
export function relayerOf(id: string): RelayerOverview | undefined {
  return state.value.relayers.get(id);
}

/** Returns the network of a relayer as the overview knows it. */
export function networkOf(relayer: Pick<RelayerOverview, 'network' | 'networkType'> | undefined): NetworkOverview | undefined {
  return relayer === undefined ? undefined : state.value.networks.get(`${kindOf(relayer.networkType).name}:${relayer.network}`);
}

/** The native coin of a network. */
export interface Coin {
  readonly symbol: string;
  readonly decimals: number;
}

/** Returns the native coin of a relayer's network; before the overview has arrived, the usual coin of its type. */
export function coinOf(relayer: Pick<RelayerOverview, 'network' | 'networkType'> | undefined): Coin {
  const network = networkOf(relayer);
  if (network !== undefined) return { symbol: network.symbol, decimals: network.decimals };
  return kindOf(relayer?.networkType ?? NetworkType.EVM).coin;
}
