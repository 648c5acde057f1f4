import { register } from 'node:module';
import { plants } from './plants.js';

// Loaded by `node --import` before the simulation: puts the fault that PLANT names into the service.
const plant = plants.find(({ name }) => name === process.env.PLANT);
if (plant === undefined) throw new Error(`PLANT must be one of: ${plants.map(({ name }) => name).join('; ')}`);
register('./plant-hooks.js', import.meta.url, { data: plant });
