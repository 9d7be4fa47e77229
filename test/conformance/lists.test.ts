/** Every native list pages alike; of wrong limits and cursors each list meets one of each kind, in turns. The soak tries all. */
import { testLists } from './check-lists.ts';

await testLists('some');
