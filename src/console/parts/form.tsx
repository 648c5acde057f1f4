import type { ComponentChildren } from 'preact';

/**
 * A form whose submission stays in the page. The browser checks nothing: the service says what is wrong with a field, and the page shows it
 * at the field. `onSubmit` gets the values of the inputs that have a name.
 */
export function Form({
  class: look,
  onSubmit,
  children,
}: {
  readonly class: string;
  readonly onSubmit: (typed: FormData) => unknown;
  readonly children: ComponentChildren;
}) {
  return (
    <form
      class={look}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(new FormData(event.currentTarget));
      }}
    >
      {children}
    </form>
  );
}
