import { evmLies } from './evm-lies.js';
import { solanaLies } from './solana-lies.js';
import { stellarLies } from './stellar-lies.js';

/** What can be a lie of nodes, by their network. */
export const questionnaires = { evm: evmLies, stellar: stellarLies, solana: solanaLies } as const;
