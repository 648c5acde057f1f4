// The functions that the bundler calls for the elements of a view: Preact's older form of JSX, which is shorter in the bundle than the form
// in src/console/tsconfig.json.
export { Fragment as jsxFragment, h as jsxElement } from 'preact';
