/** DNSSEC on and off: the request, which belongs to a caller's transaction, and the reconciler that carries it out. */
export { createDnssecReconciler, type DnssecReconciler, type DnssecReconcilerOptions } from './dnssec-reconciler.ts';
export { type DnssecState, requestDnssec } from './request-dnssec.ts';
export { listKeys, requestRoll, type ZoneKey } from './request-roll.ts';
