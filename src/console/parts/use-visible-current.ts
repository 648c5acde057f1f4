import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** Scrolls a row of links so that the current one is visible: on a phone the row is wider than the screen. */
export function useVisibleCurrent(row: RefObject<HTMLElement | null>, current: string): void {
  useEffect(() => {
    row.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [row, current]);
}
