/** The names that workspaces have: their rows, and how the registry's word gets into them. */
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
