import { effect, signal } from '@preact/signals';

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
/** What the operator chose. Null: what the system prefers. It lives as long as the page. */
const chosen = signal<boolean | null>(null);
const system = signal(prefersDark.matches);
prefersDark.addEventListener('change', ({ matches }) => {
  system.value = matches;
});

/** Returns true if the page is dark now. */
export function isDark(): boolean {
  return chosen.value ?? system.value;
}

/** Switches between light and dark. */
export function switchTheme(): void {
  chosen.value = !isDark();
}

effect(() => {
  document.documentElement.classList.toggle('dark', isDark());
});
