/** What callers are told while PostgreSQL is killed or read-only. The soak has it stopped, too. */
import { testStoreOutages } from './store-outages.ts';

testStoreOutages({ isStopped: false });
