import { chainContract } from '../../contracts/chain.contract.js';
import { openStellarRig } from '../../support/stellar-contract-rig.js';

chainContract('Stellar', openStellarRig, { counts: true });
