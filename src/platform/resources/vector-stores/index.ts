/** What other resources may ask of vector stores. */
export { removeFileFromStores } from './remove-file.ts';
