/** What is to be known of UI resources outside. */
export { defineUiBundleSweep } from './sweep-bundles.ts';
