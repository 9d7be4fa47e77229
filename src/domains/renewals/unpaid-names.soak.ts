/** Names that nobody pays for, at a registry that renews by itself, over EPP. The registry's bill must be what customers have paid for. */
import { testUnpaidNames } from '../../../test/support/check-unpaid-names.ts';

await testUnpaidNames('all');
