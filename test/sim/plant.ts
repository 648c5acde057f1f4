import { register } from 'node:module';

// Loaded by `node --import` before the simulation: puts the fault that PLANT names into the service. What replaces the functions is loaded with the modules
// that have them, since a module that is loaded before the hooks are registered stays as it is.
register('./plant-hooks.js', import.meta.url, { data: process.env.PLANT });
