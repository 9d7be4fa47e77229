/** What other resources may use of model keys. */
export { listKeyedProviders, TENANT_OWNER } from './store.ts';
