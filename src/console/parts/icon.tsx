/** The paths of the pictures, in a square of 16. */
const paths = {
  alert: 'M8 2 15 14H1ZM8 6.5v3.5M8 12.2v.1',
  arrow: 'M3 8h10M9 4l4 4-4 4',
  check: 'M2.5 8.5 6 12l7.5-8',
  clock: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM8 4.5V8l2.4 1.6',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  cross: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  dash: 'M3 8h10',
  dot: 'M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5Z',
  external: 'M6 3H3v10h10v-3M9 2.5h4.5V7M13.5 2.5 7.5 8.5',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z',
  pause: 'M5.5 3v10M10.5 3v10',
  reload: 'M13.5 8A5.5 5.5 0 1 1 11.8 4M13.5 1.8v3h-3',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.3 10.3l3.7 3.7',
  send: 'M1.8 8 14 2.2 10.5 14 7.5 9Z',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M13 3l-1.2 1.2M4.2 11.8 3 13',
} as const;

/** The name of a picture. */
export type IconName = keyof typeof paths;

/** A small picture in the colour of its text. A text or a label beside it always says the same. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
