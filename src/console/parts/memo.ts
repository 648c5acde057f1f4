import { Component, type ComponentType, type FunctionComponent, h } from 'preact';

/**
 * Returns a view that is drawn again only if one of its properties is another value. Preact has this only in its layer for React, which the
 * console does not need.
 */
export function memo<Properties extends object>(view: FunctionComponent<Properties>): ComponentType<Properties> {
  return class extends Component<Properties> {
    override shouldComponentUpdate(next: Readonly<Properties>): boolean {
      const keys = new Set([...Object.keys(this.props), ...Object.keys(next)]);
      for (const key of keys) {
        if (!Object.is(this.props[key as keyof Properties], next[key as keyof Properties])) return true;
      }
      return false;
    }
    override render() {
      return h(view, this.props as Properties);
    }
  };
}
