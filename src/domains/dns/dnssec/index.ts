/** DNSSEC on and off: the request, which belongs to a caller's transaction, and the keeper that carries it out. */
export { createDnssecKeeper, type DnssecKeeper, type DnssecKeeperOptions } from './dnssec-reconciler.ts';
export { type DnssecRequest, type DnssecState, requestDnssec } from './request-dnssec.ts';
