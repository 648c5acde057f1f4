/** The most that may wait at the same time: calls, and bytes of the records that they hold. */
export interface WaitRoom {
  readonly waits: number;
  readonly bytes: number;
}

export interface WaitLimits {
  readonly perKey: WaitRoom;
  readonly perProcess: WaitRoom;
}

/** A waiter takes about 20 KB besides its record. One key leaves room for others. */
export const waitLimits: WaitLimits = {
  perKey: { waits: 1_000, bytes: 16 * 1024 * 1024 },
  perProcess: { waits: 5_000, bytes: 64 * 1024 * 1024 },
};

/** Counts a wait in, and returns the function that counts it out once; null: there is no room. */
export type EnterWait = (keyId: string, bytes: number) => (() => void) | null;

/** Creates the limit of waits. */
export function createWaitLimit({ perKey, perProcess }: WaitLimits): EnterWait {
  const byKey = new Map<string, WaitRoom>();
  let all: WaitRoom = { waits: 0, bytes: 0 };
  const hasRoom = (taken: WaitRoom, bytes: number, limit: WaitRoom) => taken.waits < limit.waits && taken.bytes + bytes <= limit.bytes;
  const takenBy = (keyId: string) => byKey.get(keyId) ?? { waits: 0, bytes: 0 };
  const add = (keyId: string, waits: 1 | -1, bytes: number) => {
    const own = takenBy(keyId);
    all = { waits: all.waits + waits, bytes: all.bytes + bytes };
    if (own.waits + waits === 0) byKey.delete(keyId);
    else byKey.set(keyId, { waits: own.waits + waits, bytes: own.bytes + bytes });
  };
  return (keyId, bytes) => {
    if (!hasRoom(takenBy(keyId), bytes, perKey) || !hasRoom(all, bytes, perProcess)) return null;
    add(keyId, 1, bytes);
    let isIn = true;
    return () => {
      if (isIn) add(keyId, -1, -bytes);
      isIn = false;
    };
  };
}
