import { computed, signal } from '@preact/signals';
import { queryOf } from '../model/route.js';

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
});

/** The location within the page: the part of its address from `#` on. */
export const currentLocation = computed(() => hash.value);

/** The query of the location. */
export const currentQuery = computed(() => queryOf(hash.value));

/** Goes to a location, as `locationTo` writes it. */
export function goTo(target: string): void {
  location.hash = target;
}

/** Changes the location without an entry in the browser's history, such as for a filter that is being typed. */
export function replaceLocation(target: string): void {
  history.replaceState(null, '', target);
  hash.value = target;
}
