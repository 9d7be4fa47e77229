/** Addresses of other names, served at a zone's own: ALIAS records. */
export { type AliasTargets, createAliasTargets } from './alias-targets.ts';
export { refreshAliases } from './refresh-aliases.ts';
