/** The names that workspaces have: their rows, and how they are updated from the registry. */

export { announceTransfer } from './announce-transfer.ts';
export { defineMissingNames } from './audit-names.ts';
export { bringBack, findPaidBack, retireByHand } from './bring-back.ts';
export { areTooManyMissing, confirmMissing, listMissing, MISSING_LOOK_MS } from './missing-names.ts';
export { ownDomain } from './own-domain.ts';
export { EXPIRY_TOLERANCE_MS, endOfPaidTerm } from './paid-term.ts';
export { countPlayNames, retirePlayNames } from './play-names.ts';
export { dropAcquisition, recordInfo, reported, retireDomain, syncDomain, withoutExpiry } from './record-info.ts';
export {
  type DomainRow,
  findDomain,
  findDomainById,
  findOwner,
  insertAcquisition,
  isUnder,
  isUnderZones,
  listActiveAfter,
  listDomains,
  lockDomain,
} from './store.ts';
