import { address } from '@solana/kit';

/** Moves lamports and makes accounts. */
export const systemProgram = address('11111111111111111111111111111111');
/** Reads what a transaction bids for and how much it may compute; does nothing else. */
export const computeBudgetProgram = address('ComputeBudget111111111111111111111111111111');
/** Owns the tables of addresses that v0 transactions look up. */
export const lookupTableProgram = address('AddressLookupTab1e1111111111111111111111111');
