/** The names that workspaces have: their rows, and how they are updated from the registry. */
export { ownDomain } from './own-domain.ts';
export { recordInfo, retireDomain, syncDomain } from './record-info.ts';
export {
  type DomainRow,
  findDomain,
  findDomainById,
  findOwner,
  insertAcquisition,
  listDomains,
  listStaleDomains,
  lockDomain,
} from './store.ts';
