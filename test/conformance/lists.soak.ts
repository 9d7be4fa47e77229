/** Every native list pages alike, whatever wrong limit or cursor it is given. */
import { testLists } from './check-lists.ts';

await testLists('all');
