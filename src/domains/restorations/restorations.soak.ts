/** Names that their owners have deleted, and want back, over EPP: with and without the report that a registry may want. */
import { testRestorations } from '../../../test/support/check-restorations.ts';

await testRestorations('all');
