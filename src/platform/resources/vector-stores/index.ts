/** What other resources may use of vector stores. */
export { findStores, type VisibleStore } from './find-stores.ts';
export { removeFileFromStores } from './remove-file.ts';
