/** What other resources may use of the catalog. */
export { type Catalog, createCatalog } from './catalog.ts';
