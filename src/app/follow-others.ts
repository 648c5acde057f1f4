import type { KeyRing } from '../core/access/key-ring.js';
import { type DefinitionWriter, startFollowing } from '../core/definitions/definition-writer.js';
import type { Feed } from '../core/transaction/feed.js';
import { repeat } from '../core/work/repeat.js';
import type { Engine } from '../engine/engine.js';
import type { Delivery } from '../webhooks/delivery.js';
import type { AppContext } from './app-context.js';
import type { ConfigInForce } from './config-in-force.js';
import type { OpenedInstance } from './open-instance.js';

/** How often an instance looks for what others changed whose notifications were lost. */
const lookElsewhereEveryMs = 2_000;

/** The parts to which changes of other instances matter. */
export interface Followers {
  readonly opened: OpenedInstance;
  readonly writer: DefinitionWriter;
  readonly engine: Engine;
  readonly feed: Feed;
  readonly delivery: Delivery;
  readonly keys: KeyRing;
  readonly inForce: Pick<ConfigInForce, 'followAgain'>;
}

/** Passes on what the other instances change. */
export function followOthers({ log, onStop }: AppContext, { opened, writer, engine, feed, delivery, keys, inForce }: Followers): void {
  const following = startFollowing(writer, log);
  onStop('work', () => following.stop());
  let isHoldUnexplained = false;
  const explainHold = (): void => {
    if (!isHoldUnexplained) return;
    isHoldUnexplained = false;
    engine.explainHold().catch((error: unknown) => {
      // While an instance joins again after a rewind, it can write nothing.
      isHoldUnexplained = true;
      log.warn({ err: error }, 'cannot write into all records why nothing is signed; retrying');
    });
  };
  opened.sharing.onHold(() => {
    isHoldUnexplained = true;
    explainHold();
  });
  opened.sharing.onNews(({ relayers, hasEvents, hasDefinitions }) => {
    engine.changedElsewhere(relayers);
    feed.changedElsewhere(relayers);
    if (hasEvents) delivery.wake();
    if (!hasDefinitions) return;
    keys.readAgain();
    following.look();
  });
  let wasSuperseded = false;
  /** Brings the file's notifications back after instances with newer files, which had put theirs in place, are gone. */
  async function followFileAgain(): Promise<void> {
    if (opened.sharing.superseded() !== null) wasSuperseded = true;
    else if (wasSuperseded) {
      await inForce.followAgain();
      wasSuperseded = false;
    }
  }

  if (opened.shared !== null) {
    // A notification is lost with the instance or the connection that sends it, or if its content could not be read. Watches and keys
    // look again by themselves.
    const lookElsewhere = async () => {
      engine.changedElsewhere('all');
      delivery.wake();
      explainHold();
      await followFileAgain();
    };
    const looking = repeat(lookElsewhere, lookElsewhereEveryMs, { onError: () => undefined, runsAtOnce: false });
    onStop('work', () => looking.stop());
  }
}
