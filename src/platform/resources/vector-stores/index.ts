/** What other resources may use of vector stores. */
export { removeFileFromStores } from './remove-file.ts';
