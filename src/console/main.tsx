import { render } from 'preact';
import { Shell } from './shell.js';

const root = document.getElementById('console');
if (root === null) throw new Error('the page has no element for the console');
render(<Shell />, root);
