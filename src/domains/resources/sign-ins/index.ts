/** Signing in by mail: what others need of it. */
export { defineSignIns } from './send-link.ts';
