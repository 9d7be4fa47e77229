/** What servers note down for themselves as they go, with nothing in it for a worker to do (`kernel/db/share-use.ts`). */
export const bookkeepingTables: readonly string[] = ['public.replicas', 'domains.registry_duties'];
