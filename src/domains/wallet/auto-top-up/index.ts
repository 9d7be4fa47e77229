export { findNextTopUpLook, runAutoTopUps } from './run-auto-top-ups.ts';
export { type AutoTopUpRow, findSettings, lockSettings, monthOf, sumCharges } from './store.ts';
