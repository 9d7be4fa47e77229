/** What is to be known of UI resources outside. */
export { readUiDocument } from './read-document.ts';
export { defineUiBundleSweep } from './sweep-bundles.ts';
