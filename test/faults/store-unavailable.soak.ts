/** What callers are told while PostgreSQL is stopped, killed or read-only. */
import { testStoreOutages } from './store-outages.ts';

testStoreOutages({ isStopped: true });
